# Sourced by test.sh, in the project's root: which test targets an argument means.

# The label of the test target that a name without more stands for, or nothing.
label_of() {
  local name=${1,,} file
  file=$([[ $name == *_test ]] && grep -rlF --include=BUILD "name = \"$name\"" tests | head -1)
  [[ -n $file ]] && echo "//$(dirname "$file"):$name"
}

# The tests in whose sources the patterns' longest words stand, so that a kernel that was changed isn't linked into
# every program there is; all tests where no source has them (data may name cases), or a pattern excludes.
targets_of() {
  local pattern piece word words=() sources
  for pattern; do
    word=
    for piece in ${pattern//[^[:alnum:]]/ }; do
      if ((${#piece} > ${#word})); then word=$piece; fi
    done
    [[ $pattern != *-* && -n $word ]] || return 0
    words+=("$word")
  done
  mapfile -t sources < <(grep -rliE "$(IFS=\|; echo "${words[*]}")" tests --include=*.{cc,h,py} --exclude-dir=fixtures)
  ((${#sources[@]})) || return 0
  bazel query --keep_going --noshow_progress "kind('_test rule', rdeps(//tests/..., set(${sources[*]})))" 2>/dev/null
}
