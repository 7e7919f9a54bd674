#!/usr/bin/env bash
# run.sh [FOLDER]: each file here compiles as it is, and with -DBAD fails with the sentence of its "expect:" comment.
. "$(dirname "$0")/../checks.sh"
work_folder compile_fail "$@"
here=$root/tests/compile_fail
compile() { "$1" -std=c++20 -I "$root/include" -fsyntax-only "${@:2}"; }
for compiler in $gcc $clang; do
  for file in "$here"/*.cpp; do
    [ -e "$file" ] || continue
    name=$(basename "$file" .cpp)
    sentence=$(sed -n 's|^// expect: ||p' "$file")
    if [ -z "$sentence" ]; then
      fail "compile_fail: $name says what it expects"
      continue
    fi
    check "compile_fail: $name, good, $compiler" compile "$compiler" "$file"
    check_fails "compile_fail: $name, bad, $compiler" "$sentence" compile "$compiler" -DBAD "$file"
  done
done
[ -n "$clang" ] || skip "compile_fail: clang" "not installed"
finish
