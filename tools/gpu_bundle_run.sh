#!/bin/bash
# Runs all that this folder has for a GPU, or a part of it:
#   ./run.sh                              the tests, the sanitizer and every table of CUDA, a section each, then a summary
#   ./run.sh tests                        every test, in several processes side by side
#   ./run.sh --gtest_filter='CudaOps.*'   some
#   ./run.sh sanitizer                    every tenth test of cuda_test under compute-sanitizer's memcheck
#   ./run.sh bench [TABLE]...             a table of tools/bench (by itself `cuda`), beside PyTorch where AORTA_PEER_PYTHON
#                                         names its interpreter
#   ./run.sh echo COMMAND...              aorta-echo
# The tests end with one line, `N passed, N failed, N skipped`. The exit status is not 0 when one failed, when none
# ran, and when there is a GPU that can't be used. A test that ends its process, or takes too long, is one that failed:
# the others go on in a new process. Of all together it is not 0 when a part failed.
# It needs an NVIDIA driver and CUDA 13's libraries; where they are not found by themselves, set CUDA_HOME.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
processes=${AORTA_GPU_PROCESSES:-4}
limit=${AORTA_GPU_LIMIT:-600}            # seconds, for a process
part_limit=${AORTA_GPU_PART_LIMIT:-1800} # seconds, for a section of all
not_run=77                               # the status of a part that lacks what it needs
read -ra under <<<"${AORTA_GPU_UNDER:-}" # a command that runs the tests' program

# Folders that may hold libcublasLt.so.13: a toolkit's, or those of Python's packages.
candidates=()
[[ -n ${CUDA_HOME:-} ]] && candidates+=("$CUDA_HOME/lib64" "$CUDA_HOME/lib")
candidates+=(/usr/local/cuda/lib64 /usr/local/cuda-13*/lib64 /usr/lib/x86_64-linux-gnu)
for python in python3 ${AORTA_PEER_PYTHON:+"$AORTA_PEER_PYTHON"}; do
  command -v "$python" >/dev/null || continue
  while read -r root; do
    candidates+=("$root"/nvidia/*/lib)
  done < <("$python" -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' 2>/dev/null)
done
libraries=$here/lib
for name in libcublasLt.so.13 libcudnn.so.9 libnccl.so.2 libcufft.so.12 libcusolver.so.12; do
  for folder in "${candidates[@]}"; do
    [[ -e $folder/$name ]] && { libraries+=:$folder; break; }
  done
done
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export AORTA_CUDA_PLUGIN=$here/bin/libaorta_cuda.so
export AORTA_FIXTURES=$here/fixtures

gpu=
if command -v nvidia-smi >/dev/null; then
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null) || gpu=
fi
[[ ${1:-} == echo ]] || echo "GPU: ${gpu:-none seen by nvidia-smi}"

# Every part in a process of its own, so that none keeps the others from running.
run_everything() {
  local -a parts=(tests sanitizer) results=()
  local tables table part start status result child='' failed=0
  tables=$("$here/bin/bench" --list | awk '/^cuda/ { print $1 }') || true
  for table in ${tables:-cuda}; do parts+=("bench $table"); done
  trap 'kill "$child" && wait "$child"; exit 143' INT TERM
  for part in "${parts[@]}"; do
    printf '\n== %s\n' "$part"
    start=$SECONDS status=0
    # shellcheck disable=SC2086
    timeout -k 30 "$part_limit" "$BASH" "$here/run.sh" $part 2>&1 &
    child=$!
    wait "$child" || status=$?
    case $status in
      0) result=ok ;;
      "$not_run") result='not run' ;;
      124 | 137) result="FAILED: more than $part_limit s" ;;
      *) result="FAILED: status $status" ;;
    esac
    [[ $result == FAILED* ]] && failed=1
    results+=("$(printf '%-20s %5d s  %s' "$part" $((SECONDS - start)) "$result")")
    printf '== %s\n' "${results[-1]}"
  done
  printf '\n== summary\n'
  printf '%s\n' "${results[@]}"
  [[ -n $gpu ]] || echo "There was no GPU: what needs one was skipped, and its rows are empty."
  return "$failed"
}

programs=("$here"/bin/*_test)
every=1 # of so many tests one runs
case ${1:-} in
  '')
    run_everything
    exit
    ;;
  tests) shift ;;
  sanitizer)
    shift
    sanitizer=$(PATH=$PATH:$(printf '%s/bin:' "${candidates[@]%/lib*}") command -v compute-sanitizer) || {
      echo "not run: there is no compute-sanitizer in PATH or beside CUDA's libraries"
      exit "$not_run"
    }
    [[ -n $gpu ]] || { echo "not run: there is no GPU"; exit "$not_run"; }
    # Tests of errors make calls that fail.
    under=("$sanitizer" --tool memcheck --report-api-errors no)
    programs=("$here/bin/cuda_test")
    every=10
    limit=$((part_limit * 9 / 10))
    ;;
  bench)
    shift
    (($#)) || set -- cuda
    exec "$here/bin/bench" "$@"
    ;;
  echo)
    shift
    exec "$here/bin/aorta-echo" "$@"
    ;;
esac
cd "$here" # where tests find programs and weights
for argument; do
  [[ $argument == --gtest_list_tests || $argument == --help ]] || continue
  for program in "${programs[@]}"; do "$program" "$@"; done
  exit
done

arguments=("$@")
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Of program $1 every `processes`th test from number $2 on, and, when it has ended before its last one, those left.
run_tests() {
  local -a left=()
  local i filter log timer=''
  trap '{ kill "$timer" && wait "$timer"; } 2>/dev/null; exit' TERM
  for ((i = $2; i < ${#tests[@]}; i += processes)); do left+=("${tests[i]}"); done
  while ((${#left[@]})); do
    filter=$(IFS=: && echo "${left[*]}")
    log=$logs/${1##*/}.$2.${#left[@]}
    timeout -k 5 "$limit" "${under[@]}" "$1" "${arguments[@]}" --gtest_color=no --gtest_filter="$filter" \
      >"$log" 2>&1 &
    timer=$!
    wait "$timer" || true
    grep -q '^\[ RUN      \]' "$log" || return 0
    mapfile -t left < <(awk 'NR == FNR { if (/^\[ RUN      \]/) ran[$4]; next } !($0 in ran)' \
      "$log" <(printf '%s\n' "${left[@]}"))
  done
}
wanted=0
ended=
trap 'ended=1; kill $(jobs -p) 2>/dev/null || true' INT TERM
for program in "${programs[@]}"; do
  [[ -z $ended ]] || break
  mapfile -t tests < <("$program" "$@" --gtest_list_tests | awk -v every="$every" '
    /^[^ ].*\.( |$)/ { suite = $1; next }
    /^  / && n++ % every == 0 { print suite $1 }')
  ((wanted += ${#tests[@]})) || true
  for ((p = 0; p < processes; ++p)); do run_tests "$program" "$p" & done
  wait || true
done
wait || true # for what the trap ended

# What a test printed comes whole; of skipped ones the reasons, once, with how many gave each.
shopt -s nullglob
status=0
cat /dev/null "$logs"/* | awk -v gpu="$gpu" -v wanted="$wanted" -v under="${under[*]}" '
  function flush_test() { if (held != "") printf "%s", held; held = ""; running = ""; fflush() }
  function lost() { if (running != "") { ++failed; printf "%s", held; print "The program ended in this test."; held = ""; running = "" } }
  /^Note: Google Test filter/ || /^Running main/ { lost(); next }
  /^\[ RUN      \]/ { running = $0; held = $0 "\n"; reason = ""; next }
  /^=+ (ERROR|RACECHECK) SUMMARY: / { ++summaries; found += $4; next }
  running != "" && /^\[       OK \]/ { ++passed; held = held $0 "\n"; flush_test(); next }
  running != "" && /^\[  FAILED  \]/ { ++failed; held = held $0 "\n"; flush_test(); next }
  running != "" && /^\[  SKIPPED \]/ { ++skipped; ++why[reason]; held = ""; running = ""; next }
  running != "" { held = held $0 "\n"; if ($0 != "" && $0 !~ /: Skipped$/) reason = $0; next }
  /^\[/ || /^$/ || /^ *[0-9]+ FAILED TEST/ || /listed below/ { next }
  { print }
  END {
    lost()
    for (text in why) print "skipped: " why[text] " tests, because: " text
    missing = wanted - passed - failed - skipped
    if (missing > 0) { print missing " tests did not run."; failed += missing }
    silent = under ~ /sanitizer/ && !summaries
    if (under ~ /sanitizer/) print "compute-sanitizer: " found + 0 " errors in " summaries + 0 " processes"
    if (gpu != "" && skipped > 0 && passed == 0) print "There is a GPU, and no test could use it."
    print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"
    exit failed > 0 || found > 0 || silent || passed + skipped == 0 || (gpu != "" && skipped > 0 && passed == 0)
  }' || status=$?
exit "$status"
