"""How the tests run in a build with sanitizers (cmake --preset asan).

libMLIR and libLLVM are not instrumented, which has three consequences:

- What they put into a container of LLVM's or the C++ library's goes unnoticed
  by the bookkeeping that instrumented code does through their headers, so that
  checks of the unused part of a std::vector and of an arena's slabs
  (BumpPtrAllocator) would report what is in order. Both are off; memory on the
  heap, the stack and in globals is checked.
- Contexts and JIT engines of theirs live until the process ends, and Python's
  modules do: leaks are not reported.
- Programs that are not ours (mlir-opt, mlir-runner, Python) but load one of our
  libraries must load the runtime first, through LD_PRELOAD.

Code that the tests compile at run time is not instrumented either; what it
calls and allocates is checked.
"""

import os

OPTIONS = {
    "ASAN_OPTIONS": "detect_container_overflow=0:allow_user_poisoning=0:"
    "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def set_options(config):
    """Sets the options; what the caller's environment has comes last and so
    wins."""
    for name, value in OPTIONS.items():
        own = os.environ.get(name)
        config.environment[name] = f"{value}:{own}" if own else value


def link_flags(config):
    """Flags of a compiler that links our archives into a test's program."""
    if not config.sanitizer_runtime:
        return f" -fsanitize={config.sanitizers}"
    folder = os.path.dirname(config.sanitizer_runtime)
    return (
        f" -fsanitize={config.sanitizers} -shared-libsan"
        f" -Wl,-rpath,{folder} -Wno-unused-command-line-argument"
    )


def preload(config, pattern, command):
    """Makes a command of the tests load the runtime first."""
    if config.sanitizer_runtime:
        config.substitutions.insert(
            0, (pattern, f"env LD_PRELOAD={config.sanitizer_runtime} {command}")
        )
