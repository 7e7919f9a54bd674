"""Reads the output of `g++ -E -dD`; fails when a header below the given folder leaves a macro without the prefix."""

import re
import sys

folder = sys.argv[1]
current = ""
defined = {}
for line in sys.stdin:
    if marker := re.match(r'# \d+ "(.*?)"', line):
        current = marker[1]
    elif definition := re.match(r"#define (\w+)", line):
        defined[definition[1]] = current
    elif removal := re.match(r"#undef (\w+)", line):
        defined.pop(removal[1], None)

ours = {name: file for name, file in defined.items() if file.startswith(folder)}
leaked = {name: file for name, file in ours.items() if not name.startswith("TIGHTKV_")}
for name, file in leaked.items():
    print(f"{file} leaves the macro {name}")
print(f"{len(ours)} macros stay defined")
sys.exit(1 if leaked or not ours else 0)
