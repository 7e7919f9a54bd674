#!/usr/bin/env bash
# run.sh [FOLDER]: which kernels a process runs on: chosen, forced by TIGHTKV_ISA, refused; on this CPU and on emulated ones.
. "$(dirname "$0")/../checks.sh"
work_folder dispatch "$@"
here=$root/tests/dispatch
unset TIGHTKV_ISA

# says TEXT COMMAND...: the command succeeds and its first line begins with TEXT.
says() {
  local text=$1 out
  shift
  out=$("$@" 2>/dev/null) || { echo "$out" && return 1; } # qemu warns of what it does not emulate
  echo "$out"
  case $out in "$text"*) ;; *) echo "wanted: $text" && return 1 ;; esac
}
forced() { env TIGHTKV_ISA="$1" "${@:2}"; }
bytes_of() { "$@" 2>/dev/null | sed -n 's/^bytes //p'; }
build() { # NAME COMPILER FLAGS...
  check "dispatch: build $1" "$2" -std=c++20 -O0 -Wall -Wextra -Werror -I "$root/include" "${@:3}" -static "$here/report.cpp" -o "$work/$1"
}

# names REPORT: the compiled tables that this CPU runs, best first.
names() { sed -n '1s/.*compiled: //p' <<<"$1" | sed 's/[a-z0-9_]* (not on this CPU)//g'; }
# on_cpu LABEL COMMAND...: every table that is there can be forced, the first is the default, others are refused.
on_cpu() {
  local label=$1 report name best
  shift
  report=$("$@" 2>/dev/null) && read -ra there < <(names "$report")
  best=${there[0]:-none}
  check "dispatch: $label: the best, $best, is chosen" says "$best: the best that this CPU runs; compiled: " "$@"
  check "dispatch: $label: an empty TIGHTKV_ISA is none" says "$best: the best" forced "" "$@"
  for name in "${there[@]}"; do
    check "dispatch: $label: $name when forced" says "$name: forced by TIGHTKV_ISA; " forced "$name" "$@"
    check "dispatch: $label: $name packs the same bytes" [ "$(bytes_of forced "$name" "$@")" = "$(bytes_of "$@")" ]
  done
  check_fails "dispatch: $label: an unknown name is refused" \
    "refused: TIGHTKV_ISA is 'sse9', which is not in this build; it runs $(sed 's/ /, /g' <<<"${there[*]}")" forced sse9 "$@"
  check_fails "dispatch: $label: a name is not a prefix" "refused: TIGHTKV_ISA is 'scala'" forced scala "$@"
}

machine=$(uname -m)
build report "$gcc" && on_cpu "this CPU" "$work/report"
check_fails "dispatch: xsimd is refused where its header is not included" "(xsimd needs #include <tightkv/kernel/xsimd.hpp>)" \
  forced xsimd "$work/report"
if [ -e /usr/include/xsimd/xsimd.hpp ]; then
  build xsimd "$gcc" -DWITH_XSIMD && on_cpu "with xsimd" "$work/xsimd"
else
  skip "dispatch: xsimd" "not installed"
fi

if [ "$machine" != x86_64 ]; then
  skip "dispatch: old x86-64 CPUs" "this is $machine"
elif ! have qemu-x86_64; then
  skip "dispatch: old x86-64 CPUs" "no qemu-x86_64"
else
  old=(qemu-x86_64 -cpu Nehalem) haswell=(qemu-x86_64 -cpu Haswell)
  check "dispatch: Nehalem runs scalar" says "scalar: the best" "${old[@]}" "$work/report"
  check "dispatch: Haswell runs avx2" says "avx2: the best" "${haswell[@]}" "$work/report"
  on_cpu "Haswell" "${haswell[@]}" "$work/report"
  check_fails "dispatch: Nehalem refuses avx2" "refused: TIGHTKV_ISA is 'avx2', which this CPU lacks; it runs scalar" \
    forced avx2 "${old[@]}" "$work/report"
  check_fails "dispatch: Haswell refuses avx512" "refused: TIGHTKV_ISA is 'avx512', which this CPU lacks; it runs avx2, scalar" \
    forced avx512 "${haswell[@]}" "$work/report"
  [ -e "$work/xsimd" ] && check "dispatch: Nehalem runs xsimd where its header is" says "xsimd: the best" "${old[@]}" "$work/xsimd"
  # The control: these emulated CPUs do refuse what they lack.
  check_fails "dispatch: AVX2 code on Nehalem is an illegal instruction" "" bash -c "qemu-x86_64 -cpu Nehalem '$work/report' avx2; exit \$?"
  check_fails "dispatch: AVX-512 code on Haswell is an illegal instruction" "" bash -c "qemu-x86_64 -cpu Haswell '$work/report' avx512; exit \$?"
  check "dispatch: AVX2 code on Haswell runs" "${haswell[@]}" "$work/report" avx2
fi

if have aarch64-linux-gnu-g++ && have qemu-aarch64; then
  build aarch64 aarch64-linux-gnu-g++
  check "dispatch: Cortex-A53 runs neon" says "neon: the best" qemu-aarch64 -cpu cortex-a53 "$work/aarch64"
  check "dispatch: Cortex-A76 runs neon_dotprod" says "neon_dotprod: the best" qemu-aarch64 -cpu cortex-a76 "$work/aarch64"
  on_cpu "Cortex-A76" qemu-aarch64 -cpu cortex-a76 "$work/aarch64"
  check_fails "dispatch: Cortex-A53 refuses neon_dotprod" \
    "refused: TIGHTKV_ISA is 'neon_dotprod', which this CPU lacks; it runs neon, scalar" forced neon_dotprod qemu-aarch64 -cpu cortex-a53 "$work/aarch64"
  [ "$machine" = x86_64 ] && check "dispatch: ARM and x86-64 pack the same bytes" \
    [ "$(bytes_of qemu-aarch64 -cpu cortex-a53 "$work/aarch64")" = "$(bytes_of "$work/report")" ]
else
  skip "dispatch: 64-bit ARM" "no cross compiler or no qemu-aarch64"
fi
finish
