#!/usr/bin/env bash
# check_reader.sh [FOLDER]: a second reader, written from docs/format.md, reads the golden blocks and agrees
# with the library on every value.
. "$(dirname "$0")/../checks.sh"
work_folder reader "$@"
here=$root/tests/golden
"$gcc" -std=c++20 -O1 -I "$root/include" "$here/write_golden.cpp" -o "$work/writer" || exit 1
"$work/writer" --decode >"$work/decoded.txt" || exit 1
python3 "$root/tools/read_block.py" "$here/v0.txt" "$work/decoded.txt"
