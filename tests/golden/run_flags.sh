#!/usr/bin/env bash
# run_flags.sh [--write] [FOLDER]: the stored bytes are the same for every compiler, flag and CPU.
# write_golden.cpp prints them; v0.txt is what it must print. --write makes v0.txt anew, from g++ -O0.
. "$(dirname "$0")/../checks.sh"
write=false
if [ "${1:-}" = --write ]; then write=true && shift; fi
work_folder golden "$@"
here=$root/tests/golden
golden=$here/v0.txt
common=(-std=c++20 -I "$root/include" "$here/write_golden.cpp")

if $write; then
  "$gcc" -O0 "${common[@]}" -o "$work/writer" && "$work/writer" >"$golden" && wc -l "$golden"
  exit
fi

same_bytes() { # OUTPUT: compares with the golden text, and shows where they part
  cmp "$1" "$golden" && return
  diff "$golden" "$1" | head -20
  return 1
}
# variant NAME NEEDED_COMMANDS EMULATOR -- COMPILER FLAGS...
variant() {
  local name="golden: $1" needed=$2 emulator=$3 program="$work/writer_$checks_done" command
  shift 4
  for command in $needed; do
    if ! have "$command"; then
      skip "$name" "no $command"
      return
    fi
  done
  check "$name" build_and_compare "$program" "$emulator" "$@"
}
build_and_compare() {
  local program=$1 emulator=$2
  "${@:3}" "${common[@]}" -o "$program" && $emulator "$program" >"$program.txt" && same_bytes "$program.txt"
}

variant "g++ -O0" "$gcc" "" -- "$gcc" -O0
variant "g++ -O2" "$gcc" "" -- "$gcc" -O2
# Linked with -ffast-math, the start-up code sets flush-to-zero.
variant "g++ -O3 -ffast-math -march=native" "$gcc" "" -- "$gcc" -O3 -ffast-math -march=native
variant "clang++ -O3 -march=native -ffp-contract=fast" "${clang:-clang++-19}" "" -- \
  "${clang:-clang++-19}" -O3 -march=native -ffp-contract=fast
variant "aarch64 g++ -O2 under qemu" "aarch64-linux-gnu-g++ qemu-aarch64" qemu-aarch64 -- \
  aarch64-linux-gnu-g++ -O2 -static
finish
