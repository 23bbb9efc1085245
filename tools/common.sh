# Sourced by run.sh and test.sh: goes to the project's root, shuts standard input, and defines
#   aorta_bazel COMMAND ARGS...   Bazel with the disk cache that every clone of this user shares
#   has_nvidia_driver             true where a program could use CUDA
#   trim_cache                    deletes what that cache holds beyond 24 GB, the longest unread first
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
aorta_cache=${XDG_CACHE_HOME:-$HOME/.cache}/aorta-bazel

aorta_bazel() {
  local command=$1 flags=()
  shift
  if [[ $command != info && $command != shutdown ]]; then
    flags=("--disk_cache=$aorta_cache")
    memory_holds_sandboxes && flags+=(--sandbox_base=/dev/shm)
    [[ -t 1 ]] || flags+=(--color=no --curses=no --show_progress_rate_limit=30)
    [[ -w . ]] || flags+=(--experimental_convenience_symlinks=ignore)
  fi
  bazel "$command" "${flags[@]}" "$@"
}

# A sandbox is 700 links and folders, made and deleted for each source: a sixth of the time to compile on ext4, which
# looks long for a fresh inode where many were just deleted. Tests run programs in theirs.
memory_holds_sandboxes() {
  [[ -w /dev/shm ]] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts &&
    (($(df --output=avail -k /dev/shm | tail -1) > 8 << 20))
}

# As core/cuda_plugin.cc looks for it.
has_nvidia_driver() { python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; }

# Bazel 4 lets the cache grow without end.
trim_cache() {
  [[ -d $aorta_cache ]] || return 0
  (cd "$aorta_cache" && find . -type f -printf '%A@ %s %p\n' | sort -rn |
    awk '{ bytes += $2 } bytes > 24e9 { print $3 }' | xargs -r rm -f)
}

# A build machine keeps no server of ours running.
if [[ ${CI:-} == true ]]; then trap 'aorta_bazel shutdown || true' EXIT; fi
