# Functions for scripts of several stages, to be sourced. Needs $run, the run's
# directory.

# Ends the script with one line if a name that the user gave is not known.
check_names() {  # VARIABLE NAMES KNOWN
  local name
  for name in ${2//,/ }; do
    case ",$3," in
      *",$name,"*) ;;
      *)
        echo "$1 must be some of ${3//,/, }. Found $name. Correct it, or leave" \
          "$1 out." >&2
        exit 2
        ;;
    esac
  done
}

# Runs a stage unless its result is there; its output goes to a log, of which
# the moving progress bar is shown.
stage() {  # NAME RESULT COMMAND...
  local name=$1 result=$2 begun secs
  shift 2
  if [ -e "$result" ]; then
    echo "[$name] done already"
    return
  fi
  echo "[$name] $*" | cut -c -160
  mkdir -p "$run/logs"
  begun=$(date +%s)
  if ! "$@" 2>&1 | tee "$run/logs/$name.log" | grep --line-buffered -a -o \
    '[0-9]*%|.*' | tr '\r' '\n' | sed -u "s/^/    $name /" >"$(progress_to)"; then
    :
  fi
  if [ ! -e "$result" ]; then
    echo "Stage $name must leave $result. Found none. See" \
      "$run/logs/$name.log; its last line: $(tail -n 1 "$run/logs/$name.log")" >&2
    exit 1
  fi
  secs=$(($(date +%s) - begun))
  echo "$name $secs" >>"$run/seconds.txt"
  echo "[$name] $secs s"
}

# Prints the flag that resumes a training job; without a checkpoint it removes
# what is left of the job, unless that is done: arguments of a stage are expanded
# even if it is skipped.
begin() {  # RUN_DIR
  if [ -e "$1/checkpoints" ]; then
    echo --resume
  elif [ ! -e "$1/DONE" ]; then
    rm -rf "$1"
  fi
}

progress_to() { if [ -t 1 ]; then echo /dev/tty; else echo /dev/null; fi; }

# Runs functions beside each other with one thread each: several processes of
# one thread use the cores better than one process with small matrices.
beside() {  # FUNCTION...
  local job jobs_of
  export TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1
  set -m  # Each is a process group, to be stopped with all that it has started.
  for job in "$@"; do "$job" & done
  jobs_of=$(jobs -p)
  trap 'for job in '"${jobs_of//$'\n'/ }"'; do
    kill -- "-$job" 2>/dev/null || true; done' EXIT
  for job in $jobs_of; do wait "$job"; done
  trap - EXIT
  set +m
  unset TF_NUM_INTRAOP_THREADS TF_NUM_INTEROP_THREADS
}
