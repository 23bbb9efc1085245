# Sourced by run.sh and test.sh: goes to the project's root, shuts standard input, and defines
#   aorta_bazel COMMAND ARGS...   Bazel with the disk cache that every clone of this user shares
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
aorta_cache=${XDG_CACHE_HOME:-$HOME/.cache}/aorta-bazel

aorta_bazel() {
  local command=$1 flags=()
  shift
  if [[ $command != info && $command != shutdown ]]; then
    flags=("--disk_cache=$aorta_cache")
    [[ -t 1 ]] || flags+=(--color=no --curses=no --show_progress_rate_limit=30)
    [[ -w . ]] || flags+=(--experimental_convenience_symlinks=ignore)
  fi
  bazel "$command" "${flags[@]}" "$@"
}

# A build machine keeps no server of ours running.
if [[ ${CI:-} == true ]]; then trap 'aorta_bazel shutdown || true' EXIT; fi
