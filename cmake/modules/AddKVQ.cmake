# Functions that declare the project's libraries and tools. All of them link
# the shared MLIR and LLVM libraries once; none lists a static MLIR target, as
# mixing the two would put two copies of a dialect into one process.

# Installed tools find the shared MLIR and LLVM where they were linked.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

set_property(GLOBAL PROPERTY KVQ_LIBS "")
set_property(GLOBAL PROPERTY KVQ_EXPORTS "")

# add_kvq_library(name source... [NO_MLIR] [DEPENDS target...]
#                 [LINK_LIBS library...])
#
# A static, position-independent library. With NO_MLIR it may include LLVM's
# support headers only.
function(add_kvq_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(NOT ARG_NO_MLIR)
    # Every TableGen product, so that a library names no single one of them.
    add_dependencies(${name} kvq-headers)
  endif()
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} INTERFACE ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY KVQ_LIBS ${name})
  set_property(GLOBAL APPEND PROPERTY KVQ_EXPORTS ${name})
  install(TARGETS ${name} EXPORT KVQTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_kvq_tool(name source... [NO_MLIR] [LINK_LIBS library...])
#
# An installed executable over our libraries and the shared MLIR and LLVM.
function(add_kvq_tool name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_NO_MLIR)
    target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} LLVM)
  else()
    add_dependencies(${name} kvq-headers)
    target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# add_kvq_unittest(name source... [NO_MLIR] [LINK_LIBS library...])
#
# A GoogleTest binary that lit finds in the unit test folder.
function(add_kvq_unittest name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  if(NOT ARG_NO_MLIR)
    add_dependencies(${name} kvq-headers)
    target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR)
  else()
    target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  endif()
  target_link_libraries(${name} PRIVATE LLVM GTest::gtest GTest::gtest_main)
  add_dependencies(kvq-unittests ${name})
endfunction()
