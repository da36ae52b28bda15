# Sets a machine up and builds the project; sourced by the other scripts. What
# is there already is left alone, so a second run is quick.
#
# KVQ_PRESET names the CMake preset (default: default; asan: with sanitizers).
# KVQ_BUILD_DIR names the build folder (default: build in the source tree, or
# build-PRESET for another preset).

set -euo pipefail

KVQ_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
KVQ_PRESET="${KVQ_PRESET:-default}"
if [ "$KVQ_PRESET" = default ]; then
  KVQ_BUILD_DIR="${KVQ_BUILD_DIR:-$KVQ_ROOT/build}"
else
  KVQ_BUILD_DIR="${KVQ_BUILD_DIR:-$KVQ_ROOT/build-$KVQ_PRESET}"
fi
KVQ_VENV="$KVQ_ROOT/.venv"
KVQ_PACKAGES=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22
  libclang-rt-22-dev ninja-build cmake ccache libgtest-dev
  libzstd-dev zlib1g-dev python3 python3-venv
)

say() { printf '== %s\n' "$*" >&2; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Installs the Debian packages that are missing.
install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this script installs Debian packages; on another system install" \
      "LLVM and MLIR 22, CMake, Ninja and GoogleTest, then build with CMake"
  local missing=() package
  for package in "${KVQ_PACKAGES[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] ||
    die "packages are missing; run as root, or first:" \
      "apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  local log
  log="$(mktemp)"
  if ! { apt-get update &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y \
      --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "apt-get failed; its whole output is in $log"
  fi
  rm -f "$log"
}

# install_python FILE: a Python environment of the project's own with the
# packages that a requirements file names.
install_python() {
  local stamp
  stamp="$KVQ_VENV/.installed-$(cksum <"$1" | tr -d ' ')"
  [ -e "$stamp" ] && return
  say "setting up Python in .venv"
  [ -x "$KVQ_VENV/bin/python" ] || /usr/bin/python3 -m venv "$KVQ_VENV"
  "$KVQ_VENV/bin/python" -m pip install --quiet \
    --disable-pip-version-check -r "$1" || die "pip failed for $1"
  touch "$stamp"
}

# build TARGET...: configures if needed and builds with at most two jobs.
build() {
  if [ ! -e "$KVQ_BUILD_DIR/build.ninja" ]; then
    say "configuring in $KVQ_BUILD_DIR"
    (cd "$KVQ_ROOT" && cmake --preset "$KVQ_PRESET" -B "$KVQ_BUILD_DIR" \
      >"$KVQ_ROOT/.configure.log" 2>&1) ||
      { tail -n 30 "$KVQ_ROOT/.configure.log" >&2; die "cmake failed"; }
    rm -f "$KVQ_ROOT/.configure.log"
  fi
  say "building $*"
  cmake --build "$KVQ_BUILD_DIR" -j 2 --target "$@" >&2 || die "build failed"
}
