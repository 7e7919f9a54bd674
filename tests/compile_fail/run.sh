#!/usr/bin/env bash
# run.sh [FOLDER]: each file here compiles as it is, and with -DBAD fails with the sentence of its "expect:" comment.
. "$(dirname "$0")/../checks.sh"
work_folder compile_fail "$@"
here=$root/tests/compile_fail

# All compilations first, two at a time or more; then the verdicts, in order.
export work include=$root/include
compile() { # COMPILER FILE good|bad
  local log name
  name=$(basename "$2" .cpp)
  log=$work/$1_${name}_$3
  "$1" -std=c++20 -I "$include" -fsyntax-only "${@:4}" "$2" >"$log.log" 2>&1
  echo $? >"$log.code"
}
export -f compile
for compiler in $gcc $clang; do
  for file in "$here"/*.cpp; do
    printf '%s\0' "$compiler $file good" "$compiler $file bad -DBAD"
  done
done | xargs -0 -P "${TIGHTKV_JOBS:-$(nproc)}" -I{} bash -c 'compile $1' compile {}

verdict() { cat "$work/$1.log" && return "$(cat "$work/$1.code")"; }
for compiler in $gcc $clang; do
  for file in "$here"/*.cpp; do
    name=$(basename "$file" .cpp)
    sentence=$(sed -n 's|^// expect: ||p' "$file")
    [ -n "$sentence" ] || fail "compile_fail: $name says what it expects"
    check "compile_fail: $name, good, $compiler" verdict "${compiler}_${name}_good"
    check_fails "compile_fail: $name, bad, $compiler" "$sentence" verdict "${compiler}_${name}_bad"
  done
done
[ -n "$clang" ] || skip "compile_fail: clang" "not installed"
finish
