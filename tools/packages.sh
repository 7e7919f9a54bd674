# packages.sh: sourced by the scripts here. ensure_packages NAME... installs those Debian packages that are missing,
# and fails with a sentence when one that is needed cannot be had. A name with "?" is optional.

package_is_there() {
  case $1 in
    cmake) have cmake && [ "$(printf '%s\n' 3.25 "$(cmake --version | sed -n '1s/[^0-9]*//p')" | sort -V | head -1)" = 3.25 ] ;;
    ninja-build) have ninja ;;
    pkg-config | python3 | ccache) have "$1" ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 ;;
    g++) have "${CXX:-g++}" ;;
    clang-19) have clang++-19 ;;
    libclang-rt-19-dev) ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan-*.a >/dev/null 2>&1 ;;
    g++-aarch64-linux-gnu) have aarch64-linux-gnu-g++ ;;
    qemu-user) have qemu-aarch64 && have qemu-x86_64 ;;
    libeigen3-dev) header_is_there eigen3/Eigen/Core ;;
    libxsimd-dev) header_is_there xsimd/xsimd.hpp ;;
    catch2) header_is_there catch2/catch.hpp || header_is_there catch2/catch_all.hpp ;;
    libbenchmark-dev) header_is_there benchmark/benchmark.h ;;
    nlohmann-json3-dev) header_is_there nlohmann/json.hpp ;;
    libcli11-dev) header_is_there CLI/CLI.hpp ;;
    libfmt-dev) header_is_there fmt/format.h ;;
    *) echo "packages.sh does not know how to look for $1" >&2 && return 1 ;;
  esac
}
have() { command -v "$1" >/dev/null 2>&1; }
header_is_there() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }

ensure_packages() {
  local name missing=() needed=() as_root=()
  for name in "$@"; do
    package_is_there "${name%\?}" || missing+=("${name%\?}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  if have apt-get && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
    echo "installing ${missing[*]}" >&2
    { "${as_root[@]}" apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
      </dev/null >&2 || echo "apt-get could not install all of them" >&2
  fi
  for name in "$@"; do
    package_is_there "${name%\?}" && continue
    echo "missing: ${name%\?}$([[ $name == *\? ]] && echo ' (optional: its checks are skipped)')" >&2
    [[ $name == *\? ]] || needed+=("$name")
  done
  [ ${#needed[@]} -eq 0 ] && return
  echo "Cannot go on without: ${needed[*]}. Install them (Debian 12 names), then try again." >&2
  return 1
}
