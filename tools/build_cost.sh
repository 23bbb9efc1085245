#!/bin/bash
# What the emulated device costs beside its limits, in CPU seconds (docs/building.md): bench's table `build`.
#   tools/build_cost.sh     compiles all device code once, and runs the tests on it one after another
# Ends with 1 where a limit is broken. What runs beside it takes of the caches, and makes CPU seconds dearer.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
device=//tests/cuda/emulated

seconds_of() { sed -n 's/^ *\([0-9.]*\)  all .*/\1/p'; }
# The emulated device's alone: what it stands upon is compiled for all.
emulated=$(AORTA_MNEMONIC=CppCompile tools/compile_cost.sh "$device:device_code" | seconds_of)
nvcc=0
if [ -n "$(bazel cquery --noshow_progress --ui_event_filters=-info "kind(_cuda_objects, deps(//cuda:libaorta_cuda.so))" 2>/dev/null)" ]; then
  nvcc=$(AORTA_MNEMONIC=CudaCompile tools/compile_cost.sh //cuda:libaorta_cuda.so | seconds_of)
fi
mapfile -t tests < <(bazel query --noshow_progress --ui_event_filters=-info 2>/dev/null \
  "tests(//tests/...) intersect rdeps(//tests/..., $device:double) except attr(tags, manual, //tests/...)")
aorta_bazel test --nocache_test_results --local_test_jobs=1 --run_under="$PWD/tools/cpu_seconds.sh" -- "${tests[@]}" >&2
for test in "${tests[@]}"; do
  place=${test#//}
  echo "${test##*:} $(sed -n 's/^CPU seconds: //p' "build/testlogs/${place/://}/test.log" | tail -1)"
done | sort -k2 -rn | awk -v emulated="$emulated" -v nvcc="$nvcc" '
  function row(name, seconds, most) {
    printf "%-56s %8.1f %8s  %s\n", name, seconds, most, most == "" ? "" : seconds <= most ? "ok" : "MISS"
    missed += most != "" && seconds > most
  }
  { seconds[NR] = $2 + $3; name[NR] = $1; all += $2 + $3 }
  END {
    printf "%-56s %8s %8s\n", "", "seconds", "at most"
    row("all device code compiled for the emulated device", emulated, 360)
    if (nvcc > 0) row("all device code compiled by nvcc, in the default build", nvcc, 360)
    row("all tests on the emulated device, together", all, 300)
    for (i = 1; i <= NR; ++i) row("  " name[i], seconds[i], "")
    exit missed > 0
  }'
