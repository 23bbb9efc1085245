#!/bin/bash
# Installs what is missing, builds everything, runs every test, and ends with one line
#   N passed, N failed, N skipped
# that counts test cases over all suites. The exit status is not 0 when a case failed or something didn't build.
#
#   ./test.sh                        every suite:
#                                      plain  all tests (those that need a GPU show as skipped where there is none)
#                                      asan   address and undefined-behaviour sanitizers, CPU only
#                                      tsan   thread sanitizer, the targets tagged "threads"
#   ./test.sh PATTERN...             the cases whose full name (Suite.Case) has PATTERN in it, in the plain suite,
#                                    whatever their capitals; with * or ? or : or - it is GoogleTest's filter
#   ./test.sh core_test              the Bazel test target of that name; a PATTERN may follow
#   ./test.sh //tests/core/...       the tests of Bazel targets; a PATTERN may follow
#   ./test.sh --suite=asan[,tsan] [PATTERN...]    these suites
#
# Data sets are found through AORTA_MNIST, AORTA_ECHO and AORTA_ONNX_VECTORS; where they are not set, through
# ../shared/data. Tests without their data show as skipped.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/tools/common.sh"
source tools/test_targets.sh

suites=() targets=() patterns=()
for argument; do
  case $argument in
    --suite=*) argument=${argument,,} && IFS=, read -ra suites <<<"${argument#--suite=}" ;;
    -h | --help) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' test.sh; exit 0 ;;
    //*) targets+=("$argument") ;;
    *[*?:-]*) patterns+=("$argument") ;;
    *)
      label=$(label_of "$argument")
      if [[ -n $label ]]; then targets+=("$label"); else patterns+=("*$argument*"); fi
      ;;
  esac
done
if ! ((${#suites[@]})); then
  if ((${#patterns[@]} + ${#targets[@]})); then suites=(plain); else suites=(plain asan tsan); fi
fi

# More than CPUs: many tests wait for what was stopped, killed or comes late.
jobs=$(($(nproc) * 3 / 2))
flags=(--keep_going --nocache_test_results "--jobs=$jobs" "--local_test_jobs=$jobs")
((${#patterns[@]})) && flags+=("--test_filter=$(IFS=:; echo "${patterns[*]}")")
for pair in AORTA_MNIST=mnist AORTA_ECHO=echo_real AORTA_ONNX_VECTORS=vectors/onnx; do
  name=${pair%%=*} folder=$PWD/../shared/data/${pair#*=}
  [[ -z ${!name:-} && -d $folder ]] && export "$name=$(realpath "$folder")"
  [[ -n ${!name:-} ]] && flags+=("--test_env=$name=${!name}")
done
[[ -n ${AORTA_PEER_PYTHON:-} ]] && flags+=("--test_env=AORTA_PEER_PYTHON=$AORTA_PEER_PYTHON")

logs=$(mktemp -d)
report=()
if ! tools/setup.sh --test; then
  report+=("--broken=set-up: see above")
else
  trim_cache
  ((${#targets[@]} || !${#patterns[@]})) || mapfile -t targets < <(targets_of "${patterns[@]}")
  ((${#targets[@]})) || targets=(//...)
  for suite in "${suites[@]}"; do
    case $suite in
      plain) suite_flags=() ;;
      asan | tsan) suite_flags=("--config=$suite" --build_tests_only) ;;
      *) report+=("--broken=unknown suite $suite: it is plain, asan or tsan"); continue ;;
    esac
    echo "== $suite"
    aorta_bazel test "${flags[@]}" "${suite_flags[@]}" "--build_event_json_file=$logs/$suite.json" -- "${targets[@]}"
    report+=("$suite=$?:$logs/$suite.json")
  done
fi
python3 tools/test_report.py "${report[@]}" >"$logs/report" 2>&1 ||
  { grep -q 'passed,' "$logs/report" || echo "0 passed, 1 failed, 0 skipped" >>"$logs/report"; failed=1; }
[[ ${CI:-} == true ]] && { trap - EXIT; aorta_bazel shutdown; }
cat "$logs/report"
rm -rf "$logs"
exit "${failed:-0}"
