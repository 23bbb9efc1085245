#!/bin/bash
# Attacks Aorta for MINUTES (10 unless told otherwise) and counts what it tried: docs/reliability.md.
#
#   tools/siege.sh [MINUTES] [SEED]
#
# Six parts share the time: the interface, once as it is built by default and once under the address and
# undefined-behaviour sanitizers (AORTA_SIEGE_SANITIZER=0 leaves that out), the parsers, the program, the program under
# limits of any size, and with each call of a training failing in turn. Each case is drawn from the seed, today's date unless given, and its
# number alone. What is found is printed with how to see it again and stays in .cache/siege, as do the inputs of parsers
# that failed; the last line is "siege: N tried, N findings", and the exit status is not 0 when there are any.
set -euo pipefail
minutes=${1:-10}
seed=${2:-$(date +%Y%m%d)}
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
sanitized=${AORTA_SIEGE_SANITIZER:-1}

work=$PWD/.cache/siege
mkdir -p "$work"
rm -f "$work"/*.log "$work"/input-*
programs=(//tests/siege:interface_siege //tests/siege:parser_siege //tests/siege:libbad_calls.so //tests/siege:libjudge.so
  //tests/apps/echo:bad_tensor //tests/apps/echo:libbad_machine.so //apps/echo:aorta-echo
  //data:libaorta_opencv.so //data:libaorta_dicom.so //onnx:libaorta_onnx.so)  # loaded from beside the programs
if pkg-config --exists mpi-c; then programs+=(//mpi:libaorta_mpi.so); fi
# Copies, for a later build may replace what runs for hours.
install_from() {
  local from=$1 to=$2 program
  mkdir -p "$to"
  for program in "${@:3}"; do
    program=${program#//}
    cp -fL "$from/${program/://}" "$to/"
  done
}
aorta_bazel build "${programs[@]}"
install_from "$(aorta_bazel info bazel-bin 2>/dev/null)" "$work/bin" "${programs[@]}"
if ((sanitized)); then
  aorta_bazel build --config=asan //tests/siege:interface_siege
  install_from "$(aorta_bazel info --config=asan bazel-bin 2>/dev/null)" "$work/asan" //tests/siege:interface_siege
fi

share() { awk "BEGIN { print $minutes * 60 * $1 }"; }
tried=0 findings=0
# part NAME SECONDS COMMAND...
part() {
  local name=$1 seconds=$2 log=$work/$1.log last
  shift 2
  echo "== $name, $seconds s"
  "$@" --seed "$seed" --seconds "$seconds" >"$log" 2>"$log.stderr" || true
  grep -a -A1 '^finding: ' "$log" || true
  last=$(tail -1 "$log")
  echo "$last"
  # A part that doesn't end with its count has failed itself.
  if [[ $last =~ \ ([0-9]+)\ tried.*,\ ([0-9]+)\ findings$ ]]; then
    tried=$((tried + BASH_REMATCH[1])) findings=$((findings + BASH_REMATCH[2]))
  else
    tail -5 "$log.stderr"
    findings=$((findings + 1))
  fi
}

export AORTA_CORPORA=$PWD/tests/fuzz AORTA_FIXTURES=$PWD/tests/fixtures
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=768:detect_leaks=0:quarantine_size_mb=16
export UBSAN_OPTIONS=print_stacktrace=1
bin=$work/bin
interface=0.4
((sanitized)) && interface=0.2 && part sanitized "$(share 0.2)" "$work/asan/interface_siege"
part interface "$(share $interface)" "$bin/interface_siege"
part parsers "$(share 0.2)" "$bin/parser_siege"
# The inputs that were found, for tests/fuzz/corpus.
sed -n 's/^ *see it again: parser_siege .*--case \([0-9]*\).*/\1/p' "$work/parsers.log" | while read -r number; do
  AORTA_KEEP=$work/input-$number "$bin/parser_siege" --seed "$seed" --case "$number" >/dev/null 2>&1 || true
done
program=(python3 tests/siege/program_siege.py "$bin/aorta-echo" "$bin/bad_tensor" "$bin/libbad_machine.so"
  "$bin/libbad_calls.so" "$bin/libjudge.so")
part program "$(share 0.2)" "${program[@]}"
part limits "$(share 0.1)" "${program[@]}" --only limit
part steps "$(share 0.1)" "${program[@]}" --step
echo "siege: $tried tried, $findings findings"
((findings == 0))
