#!/usr/bin/env bash
# Pre-trains REALM on Cloud TPUs: 64 cores train, 16 refresh the index.
#
#   bash launch/tpu_vm.sh RUN_DIR CORPUS_DIR QUERIES_DIR [FLAGS...]
#
# All three are gs:// paths: a new RUN_DIR, and directories of bin.make_blocks
# and bin.make_queries. FLAGS go to bin.pretrain, e.g.
# --init_from=gs://bucket/warm_start; the default config has the paper's values.
# Read docs/tpu.md first.
#
# Runs where gcloud is logged in, best on a small VM. It creates the TPUs,
# installs this commit on them, starts trainer and refreshers, recreates
# preempted TPUs, shows the progress, and deletes all TPUs after the last index.
# A restart with the same arguments continues.
#
#   DRY_RUN=1         prints the commands without running them
#   ZONE, NAME        zone, and prefix of the TPUs' names
#   TRAIN_TYPE        accelerator type of the slice for training
#   REFRESH_TYPE      accelerator type of each of NUM_REFRESHERS; one host
#   TRAIN_SOFTWARE    of gcloud compute tpus tpu-vm versions list; a slice of
#   REFRESH_SOFTWARE  several hosts needs the version of this TensorFlow
#   CREATE_FLAGS      --spot by default: cheaper, and may be preempted
#   JOB_ENVIRONMENT   variables of the jobs, such as A=1 B=2
#   POLL_SECS         seconds between two checks
set -euo pipefail
if [ $# -lt 3 ]; then
  echo 'Three arguments must be given: RUN_DIR CORPUS_DIR QUERIES_DIR. Found' \
    "$#. See launch/tpu_vm.sh." >&2
  exit 2
fi
for path in "$1" "$2" "$3"; do
  if [[ $path != gs://?* ]]; then
    echo 'RUN_DIR, CORPUS_DIR and QUERIES_DIR must be seen by all hosts. Found' \
      "$path. Give a path that begins with gs://." >&2
    exit 2
  fi
done
run_dir=${1%/} corpus_dir=$2 queries_dir=$3
shift 3
cd "$(dirname "$0")/.."

tensorflow=$(sed -n 's/^tensorflow==//p' constraints.txt)
zone=${ZONE:-europe-west4-a} name=${NAME:-realm} dry_run=${DRY_RUN:-}
num_refreshers=${NUM_REFRESHERS:-2}
refresh_type=${REFRESH_TYPE:-v3-8} train_type=${TRAIN_TYPE:-v3-64}
refresh_software=${REFRESH_SOFTWARE:-tpu-vm-tf-$tensorflow-pjrt}
train_software=${TRAIN_SOFTWARE:-tpu-vm-tf-$tensorflow-pod-pjrt}
create_flags=${CREATE_FLAGS---spot} poll_secs=${POLL_SECS:-60}
wheels=https://storage.googleapis.com/libtpu-tf-releases/index.html

exec 3>&1  # For output from within $(...).
act() { if [ "$dry_run" ]; then echo "$@"; else "$@"; fi; }  # COMMAND...

tpu() {  # VERB VM FLAGS...
  act gcloud compute tpus tpu-vm "$1" "$2" --zone="$zone" "${@:3}"
}

state() {  # VM: prints READY, PREEMPTED, ...; nothing if there is none.
  [ "$dry_run" ] || gcloud compute tpus tpu-vm describe "$1" --zone="$zone" \
    --format='value(state)' 2>/dev/null || true
}

exists() { [ ! "$dry_run" ] && gcloud storage ls "$1" >/dev/null 2>&1; }  # PATH

newest() {  # params or index: prints the step of the newest whole version.
  gcloud storage ls "$run_dir/$1/*/manifest.json" 2>/dev/null | sort |
    tail -n 1 | sed "s|.*/$1/||; s|/manifest.json||" || true
}

# Prints the script that runs on a host at each check. The script installs once,
# and starts the job unless the job is running. A slice of several hosts runs it
# only on the first; the TensorFlow servers of the other hosts get their work
# from there, and TPU_LOAD_LIBRARY=0 leaves the chips to these servers.
remote_script() {  # ENVIRONMENT COMMAND...
  cat <<END
set -e
mkdir -p ~/realm_tf && cd ~/realm_tf
if [ ! -e .installed ]; then
  gcloud storage cat $run_dir/source.tar.gz | tar -xz
  sudo apt-get -qq update && sudo apt-get -qq install -y python3-venv
  bash launch/environment.sh
  # The same TensorFlow, built for TPUs.
  .venv/bin/python -m pip -q uninstall -y tensorflow
  .venv/bin/python -m pip -q install tensorflow-tpu==$tensorflow -f $wheels
  touch .installed
fi
if [ "\$(cat .exit_code 2>/dev/null)" = 2 ]; then
  rm .exit_code
  echo "MISTAKE: \$(grep -a '^ERROR: ' job.log | tail -n 1)"
  exit 0
fi
source launch/environment.sh >/dev/null
export PYTHON $1
cat >job.sh <<'JOB'
code=0
"\$PYTHON" -m $(printf '%q ' "${@:2}")|| code=\$?
echo \$code >.exit_code
JOB
setsid flock --nonblock --close .running bash -c "\$(cat job.sh)" \
  >>job.log 2>&1 </dev/null &
END
}

keep_running() {  # VM TYPE SOFTWARE COMMAND...
  local vm=$1 type=$2 software=$3 now environment mistake
  environment="TPU_ACCELERATOR_TYPE=$type ${JOB_ENVIRONMENT:-}"
  shift 3
  now=$(state "$vm")
  case $now in
    READY) ;;
    CREATING | STARTING | RESTARTING | STOPPING | DELETING | REIMAGING | \
      REPAIRING) return ;;
    *)
      if [ "$now" ]; then
        echo "$vm is $now: it is made anew."
        tpu delete "$vm" --quiet || return 0
      fi
      # shellcheck disable=SC2086  # Several flags.
      if ! tpu create "$vm" --accelerator-type="$type" \
        --version="$software" $create_flags; then
        echo "$vm could not be made; it is tried again." >&2
        return
      fi ;;
  esac
  case $software in
    *-pod*) environment="TPU_LOAD_LIBRARY=0 $environment" ;;
    # Variables of Google's own runs (GoogleCloudPlatform/ml-auto-solutions).
    *-pjrt*) environment="NEXT_PLUGGABLE_DEVICE_USE_C_API=true \
TF_PLUGGABLE_DEVICE_LIBRARY_PATH=/lib/libtpu.so $environment" ;;
  esac
  mistake=$(tpu ssh "$vm" --worker=0 \
    --command="$(remote_script "$environment" "$@")" |
    tee >(cat >&3) | grep '^MISTAKE: ' || true)
  if [ "$mistake" ]; then
    echo "${mistake#MISTAKE: } See job.log of $vm." >&2
    exit 2
  fi
}

look_after() {  # FLAGS of bin.pretrain
  local i
  for ((i = 0; i < num_refreshers; i++)); do
    keep_running "$name-refresh-$i" "$refresh_type" "$refresh_software" \
      bin.refresh_index --run_dir="$run_dir" --corpus_dir="$corpus_dir" \
      --worker="$i" --num_workers="$num_refreshers" \
      --distribution_strategy=tpu --tpu=local
  done
  if exists "$run_dir/DONE"; then
    [ -z "$(state "$name-train")" ] || tpu delete "$name-train" --quiet
  else
    keep_running "$name-train" "$train_type" "$train_software" \
      bin.pretrain --run_dir="$run_dir" --corpus_dir="$corpus_dir" \
      --queries_dir="$queries_dir" --resume \
      --distribution_strategy=tpu --tpu="$name-train" "$@"
  fi
}

if ! exists "$run_dir/source.tar.gz"; then
  act bash -o pipefail -c "git archive --format=tar.gz HEAD |
    gcloud storage cp - '$run_dir/source.tar.gz'"
fi
while true; do
  look_after "$@"
  [ ! "$dry_run" ] || break
  echo "$(date +%T) parameters $(newest params), index $(newest index):" \
    "$(gcloud storage cat "$run_dir/metrics.jsonl" 2>/dev/null | tail -n 1)"
  if exists "$run_dir/DONE" && [ "$(newest params)" = "$(newest index)" ]; then
    break
  fi
  sleep "$poll_secs"
done
for ((i = 0; i < num_refreshers; i++)); do
  tpu delete "$name-refresh-$i" --quiet
done
[ -z "$dry_run" ] || tpu delete "$name-train" --quiet
