# Sourced: one line that says what is being done and how far it is.
#   show_progress TEXT LOG   reads what Bazel or apt-get (APT::Status-Fd) says, shows "TEXT: 20 of 101, 40 s", and
#                            keeps in LOG what isn't progress
# On a terminal the line is written over; elsewhere there is one every 15 seconds. What takes a second shows none.

show_progress() {
  local text=$1 log=$2 line far='' every=15 begin=$SECONDS next=0 done all ready=''
  [[ -t 2 ]] && every=1
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9,]+)\ /\ ([0-9,]+)\] ]]; then
      done=${BASH_REMATCH[1]//,/} all=${BASH_REMATCH[2]//,/}
      # What Bazel counts before it compiles is done in no time.
      [[ -z $ready && $line =~ \]\ (Compiling|Precompiling|Linking) ]] && ready=$done
      far=${ready:+$((done - ready)) of $((all - ready))}
      far=${far:-getting ready}
    elif [[ $line =~ ^dlstatus:.*:([0-9]+)\.[0-9]+: ]]; then
      far="${BASH_REMATCH[1]} % fetched"
    elif [[ $line =~ ^pmstatus:.*:([0-9]+)\.[0-9]+: ]]; then
      far="${BASH_REMATCH[1]} %"
    else
      printf '%s\n' "$line" >>"$log"
      continue
    fi
    if ((SECONDS > begin && SECONDS >= next)); then
      next=$((SECONDS + every))
      progress_line "$text: $far, $((SECONDS - begin)) s"
    fi
  done
  ((next == 0)) || progress_line "$text: $far, $((SECONDS - begin)) s"$'\n'
}

progress_line() {
  if [[ -t 2 ]]; then printf '\r\e[K%s' "$1" >&2; else printf '%s\n' "${1%$'\n'}" >&2; fi
}
