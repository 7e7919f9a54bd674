# checks.sh: sourced by the script tests. Each check prints one line, PASS, FAIL or SKIP; tools/test counts them.
# The output of a check goes to $work/NAME.log and is shown when it fails.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
checks_failed=0
checks_done=0

pass() { checks_done=$((checks_done + 1)) && echo "PASS $1"; }
skip() { checks_done=$((checks_done + 1)) && echo "SKIP $1: $2"; }
fail() {
  checks_done=$((checks_done + 1)) checks_failed=$((checks_failed + 1))
  echo "FAIL $1"
  if [ -n "${2:-}" ] && [ -f "$2" ]; then sed -n '1,40{s/^/  | /p}' "$2"; fi
}

# check NAME COMMAND...: passes when the command succeeds.
check() {
  local name=$1 log="$work/${1//[^A-Za-z0-9_.+-]/_}.log"
  shift
  if "$@" >"$log" 2>&1; then pass "$name"; else fail "$name" "$log"; fi
}

# check_fails NAME TEXT COMMAND...: passes when the command fails and its output has TEXT.
check_fails() {
  local name=$1 text=$2 log="$work/${1//[^A-Za-z0-9_.+-]/_}.log"
  shift 2
  if "$@" >"$log" 2>&1; then
    echo "it succeeded, and should have failed with: $text" >>"$log"
    fail "$name" "$log"
  elif ! tr -s ' \n' ' ' <"$log" | grep -qF -- "$text"; then
    echo "it failed, but did not say: $text" >>"$log"
    fail "$name" "$log"
  else
    pass "$name"
  fi
}

have() { command -v "$1" >/dev/null 2>&1; }
first_of() { # the first of these commands that exists
  local name
  for name in "$@"; do have "$name" && echo "$name" && return; done
}

# The compilers that scripts try, best known first; empty when absent.
gcc=$(first_of "${CXX:-g++}" g++)
clang=$(first_of clang++-19 clang++-20 clang++-18 clang++-17 clang++-16 clang++)

# work_folder DEFAULT "$@": where a script writes; its first argument, emptied.
work_folder() {
  work=${2:-$root/build/$1}
  rm -rf "$work"
  mkdir -p "$work"
  work=$(cd "$work" && pwd)
}

finish() {
  if [ "$checks_done" -eq 0 ]; then echo "FAIL $0 checked nothing" && exit 1; fi
  exit $((checks_failed > 0))
}
