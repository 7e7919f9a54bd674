#!/usr/bin/env bash
# compare.sh EXPECTED PROGRAM...: runs the program, and fails unless it prints EXPECTED byte for byte.
set -euo pipefail
expected=$1
shift
"$@" | diff -u "$expected" -
