#!/usr/bin/env bash
# run.sh [FOLDER]: builds tightkv into other projects in every documented way.
. "$(dirname "$0")/../checks.sh"
work_folder consume "$@"
here=$root/tests/consume
prefix=$work/prefix
header=$root/include/tightkv/version.hpp
read -r major minor patch < <(awk '/^#define TIGHTKV_VERSION_(MAJOR|MINOR|PATCH) /{printf "%s ", $3}' "$header")
printed="tightkv $major.$minor.$patch"
generator=$(have ninja && echo Ninja || echo "Unix Makefiles")

configure() { # SOURCE NAME ARGUMENTS...
  local source=$1 name=$2
  shift 2
  cmake -S "$source" -B "$work/$name" -G "$generator" -DCMAKE_CXX_COMPILER="$gcc" -DCMAKE_BUILD_TYPE=None "$@"
}
prints_version() { [ "$("$@")" = "$printed" ]; }
builds_and_runs() { # SOURCE NAME ARGUMENTS...
  configure "$@" && cmake --build "$work/$2" && prints_version "$work/$2/program"
}
found() { configure "$here/find_package" "$@"; }

# --- CMake packages
installs() {
  configure "$root" install -DTIGHTKV_BUILD_{TESTS,EXAMPLES,BENCH,TOOLS}=OFF --install-prefix "$prefix" &&
    cmake --install "$work/install"
}
check "consume: install" installs
check "consume: nothing architecture-dependent is installed" \
  bash -c "cd '$prefix' && [ \"\$(ls | sort | tr '\n' ' ')\" = 'include share ' ]"
mv "$prefix" "$work/moved" && prefix=$work/moved # an installed tree can move
at="-DCMAKE_PREFIX_PATH=$prefix"
check "consume: find_package" builds_and_runs "$here/find_package" find_package "$at" -DWANTED=$major.$minor
check "consume: find_package with the exact version" found exact "$at" -DWANTED=$major.$minor.$patch
for wrong in $major.$((minor + 1)) $((major + 1)).0 $major.$minor.$((patch + 1)); do
  check_fails "consume: version $wrong is refused" "is compatible with requested version" found "$wrong" "$at" -DWANTED=$wrong
done
if [ "$minor" -gt 0 ]; then
  check_fails "consume: version $major.$((minor - 1)) is refused" "is compatible with requested version" \
    found older "$at" -DWANTED=$major.$((minor - 1))
fi
check "consume: a consumer with pointers of 4 bytes" found pointers_4 "$at" -DWANTED=$major.$minor -DPOINTER_SIZE=4
for component in json:nlohmann/json.hpp eigen:eigen3/Eigen/Core xsimd:xsimd/xsimd.hpp; do
  name=${component%%:*}
  if [ -z "$(find "$prefix/include" -name "$name.hpp")" ]; then
    skip "consume: component $name" "no header of the library needs it"
  elif [ -e "/usr/include/${component#*:}" ]; then
    check "consume: component $name" bash -c "$(declare -f configure); work='$work' generator='$generator' gcc='$gcc'
      configure '$here/components' component_$name '$at' -DCOMPONENT=$name && cmake --build '$work/component_$name'"
  else
    skip "consume: component $name" "${component#*:} is not installed"
  fi
done
check_fails "consume: an unknown component is refused" "tightkv has no component 'cuda'" \
  configure "$here/components" component_cuda "$at" -DCOMPONENT=cuda

# --- CMake source trees
check "consume: FetchContent" builds_and_runs "$here/fetch_content" fetch_content "-DTIGHTKV_SOURCE=$root"
check "consume: add_subdirectory adds interface targets only, with BUILD_TESTING=ON" \
  builds_and_runs "$here/subdirectory" subdirectory "-DTIGHTKV_SOURCE=$root"
check "consume: add_subdirectory installs nothing of ours" bash -c "
  cmake --install '$work/subdirectory' --prefix '$work/subdirectory/prefix' &&
  [ \"\$(cd '$work/subdirectory/prefix' && find . -type f)\" = ./bin/program ]"

# --- no CMake at all
plain() { "$@" "$here/program.cpp" -o "$work/plain" && prints_version "$work/plain"; }
check "consume: $gcc -I include" plain "$gcc" -std=c++20 -I "$root/include"
if have pkg-config; then
  export PKG_CONFIG_PATH=$prefix/share/pkgconfig
  check "consume: pkg-config knows the version" pkg-config "tightkv = $major.$minor.$patch"
  check "consume: pkg-config" plain "$gcc" -std=c++20 $(pkg-config --cflags tightkv)
else
  skip "consume: pkg-config" "not installed"
fi
check "consume: a shared library and its program" bash -c "$(declare -f configure); work='$work' generator='$generator' gcc='$gcc'
  configure '$here/shared_library' shared_library '$at' && cmake --build '$work/shared_library' && '$work/shared_library/program'"
if [ -n "$clang" ] && "$clang" --version | grep -qE 'version (1[6-9]|[2-9][0-9])'; then
  check "consume: inside a module ($clang)" bash -c "cd '$work' &&
    $clang -std=c++20 -I '$root/include' --precompile -x c++-module '$here/module.cpp' -o consumer.pcm &&
    $clang -std=c++20 -fmodule-file=consumer=consumer.pcm '$here/module_user.cpp' consumer.pcm -o module && ./module"
else
  skip "consume: inside a module" "needs clang 16 or later"
fi

# --- units built with different flags, in one program
if [ "$(uname -m)" = x86_64 ]; then
  two=$here/two_units
  object() { "$gcc" -std=c++20 -O2 -I "$root/include" "${@:2}" -c "$two/$1.cpp"; }
  objects() {
    cd "$work" || return
    object baseline &
    object native "$@" && object main && wait $!
  }
  # Functions that both units define under one name, and whose copy in the native unit has AVX code: the linker may
  # keep that copy for both.
  shared_wide_code() {
    local symbol found=0
    while read -r symbol; do
      objdump -d --no-show-raw-insn -j ".text.$symbol" native.o 2>/dev/null | grep -qP '\tv[a-z]|%[yz]mm' || continue
      echo "both units define $(c++filt "$symbol"), with AVX in one" && found=1
    done < <(comm -12 <(weak_symbols baseline.o) <(weak_symbols native.o))
    return $found
  }
  weak_symbols() { nm "$1" | sed -n 's/^[0-9a-f]* [WVu] //p' | sort; }
  for flags in "-mavx2 -mfma" "-march=native"; do
    (objects $flags) >"$work/two_units.log" 2>&1 || fail "consume: two units, $flags: compile" "$work/two_units.log"
    cd "$work" && check "consume: two units, $flags: no AVX code under a shared name" shared_wide_code
    for order in "baseline native" "native baseline"; do
      read -r a b <<<"$order"
      check "consume: two units, $flags, $a first: link" \
        "$gcc" "$work/main.o" "$work/$a.o" "$work/$b.o" -static -o "$work/two_units"
      if have qemu-x86_64; then
        check "consume: two units, $flags, $a first: runs on a CPU without AVX" \
          qemu-x86_64 -cpu Nehalem "$work/two_units"
      else
        skip "consume: two units, $flags, $a first: runs on a CPU without AVX" "no qemu-x86_64"
      fi
    done
    # The control: without it, an emulator that executes AVX anyway would make the lines above worthless.
    if have qemu-x86_64; then
      check_fails "consume: two units, $flags: the emulated CPU refuses the other unit's instructions" "" \
        bash -c "qemu-x86_64 -cpu Nehalem '$work/two_units' native; exit \$?"
    fi
  done
  check "consume: two units, -march=native: the same answer from both" "$work/two_units" both
else
  skip "consume: two units" "the flags are for x86-64"
fi
finish
