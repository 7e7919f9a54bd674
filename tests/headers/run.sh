#!/usr/bin/env bash
# run.sh [FOLDER]: every public header alone, under strict warnings, beside hostile macros, and without exceptions.
. "$(dirname "$0")/../checks.sh"
work_folder headers "$@"
here=$root/tests/headers
include=$root/include
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wdouble-promotion -Werror)
jobs=${TIGHTKV_JOBS:-$(nproc)}

# Foreign packages are system headers; those of the opt-in components are tried when they are here.
system=()
[ -d /usr/include/eigen3 ] && system+=(-isystem /usr/include/eigen3)
available() {
  case $1 in
    */json.hpp) [ -e /usr/include/nlohmann/json.hpp ] ;;
    */eigen.hpp) [ -e /usr/include/eigen3/Eigen/Core ] ;;
    */xsimd.hpp) [ -e /usr/include/xsimd/xsimd.hpp ] ;;
    */backend/hip.hpp | */backend/hip/* | */backend/metal.hpp | */backend/metal/* | *.hip.hpp | *.metal.hpp) false ;;
  esac
}
headers=() left_out=()
while read -r path; do
  if available "$path"; then headers+=("${path#"$include"/}"); else left_out+=("${path#"$include"/}"); fi
done < <(find "$include/tightkv" -name '*.hpp' | sort)
for header in "${left_out[@]}"; do skip "headers: $header" "needs an SDK that is not installed"; done
printf '#include <%s>\n' "${headers[@]}" >"$work/all.cpp"

export include work
alone() { # HEADER COMPILER FLAGS...: one header as a translation unit; prints what the compiler says
  local unit
  unit=$work/alone_$2_${1//\//_}.cpp
  printf '#include <%s>\n#include <%s>\nint main() {}\n' "$1" "$1" >"$unit"
  "${@:2}" -I "$include" -fsyntax-only "$unit"
}
export -f alone
each_alone() { printf '%s\0' "${headers[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'alone "$@"' alone {} "$@"; }
all_together() { "$@" -I "$include" -fsyntax-only "$work/all.cpp"; }

# g++ goes through the CMake file sets (VERIFY_INTERFACE_HEADER_SETS), which so are tested too.
verified_by_cmake() {
  cmake -S "$root" -B "$work/cmake" -G "$(have ninja && echo Ninja || echo Unix\ Makefiles)" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_COMPILER="$gcc" -DCMAKE_CXX_FLAGS="${strict[*]} -Wno-psabi" \
    -DTIGHTKV_BUILD_{TESTS,EXAMPLES,BENCH,TOOLS}=OFF &&
    cmake --build "$work/cmake" -j"$jobs" --target all_verify_interface_header_sets
}
check "headers: each alone, strict warnings, $gcc, C++20" verified_by_cmake
[ -z "$clang" ] ||
  check "headers: each alone, strict warnings, $clang, C++20" each_alone "$clang" -std=c++20 "${strict[@]}" "${system[@]}"

for compiler in $gcc $clang; do
  check "headers: all together, strict warnings, $compiler, C++23" \
    all_together "$compiler" -std=c++2b "${strict[@]}" "${system[@]}"
  check "headers: beside the macros of other people's headers, $compiler" \
    all_together "$compiler" -std=c++20 "${system[@]}" -include "$here/hostile_macros.hpp"
  printf '#include <tightkv/tightkv.hpp>\n' >"$work/bare.cpp"
  check "headers: -fno-exceptions -fno-rtti, $compiler" \
    "$compiler" -std=c++20 "${strict[@]}" -fno-exceptions -fno-rtti -O1 -I "$include" -c "$work/bare.cpp" -o "$work/bare.o"
done
[ -n "$clang" ] || skip "headers: clang" "not installed"
check "headers: only TIGHTKV_ macros are left behind" \
  bash -c "'$gcc' -std=c++20 ${system[*]} -I '$include' -E -dD '$work/all.cpp' | python3 '$here/macros.py' '$include'"

# Two units that include everything must link: nothing in a header is defined twice.
for compiler in $gcc $clang; do
  check "headers: two units link, $compiler" bash -c "cd '$work' && cp all.cpp second.cpp && echo 'int main() {}' >>second.cpp &&
    '$compiler' -std=c++20 ${system[*]} -I '$include' all.cpp second.cpp -o two_units && ./two_units"
done

finish
