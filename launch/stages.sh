# Functions for scripts of several stages, to be sourced. $run is the directory
# of the run.

# Ends the script with one line if a name is not in KNOWN.
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

# Runs a stage unless its result exists. Its output goes to a log; a terminal
# shows only the progress bar.
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

# Prints the flag that resumes a training job. Without a checkpoint, it removes
# the rest of an unfinished job. A finished job stays: bash expands a stage's
# arguments even if the stage is skipped.
begin() {  # RUN_DIR
  if [ -e "$1/checkpoints" ]; then
    echo --resume
  elif [ ! -e "$1/DONE" ]; then
    rm -rf "$1"
  fi
}

progress_to() { if [ -t 1 ]; then echo /dev/tty; else echo /dev/null; fi; }

# Runs functions at the same time with one thread each. With small matrices,
# several one-thread processes use the cores better than one process.
beside() {  # FUNCTION...
  local job jobs_of
  export TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1
  set -m  # Makes each job a process group, so that its children stop with it.
  for job in "$@"; do "$job" & done
  jobs_of=$(jobs -p)
  trap 'for job in '"${jobs_of//$'\n'/ }"'; do
    kill -- "-$job" 2>/dev/null || true; done' EXIT
  for job in $jobs_of; do wait "$job"; done
  trap - EXIT
  set +m
  unset TF_NUM_INTRAOP_THREADS TF_NUM_INTEROP_THREADS
}
