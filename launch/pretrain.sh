#!/usr/bin/env bash
# Pre-trains REALM: runs trainer and refresher at the same time.
#
#   bash launch/pretrain.sh RUN_DIR CORPUS_DIR QUERIES_DIR CONFIG [FLAGS...]
#
# FLAGS go to bin.pretrain, e.g. --init_from=runs/ict or --resume. The
# refresher logs to RUN_DIR/refresher.log, and ends when training ends or fails.
set -euo pipefail
if [ $# -lt 4 ]; then
  echo 'Four arguments must be given: RUN_DIR CORPUS_DIR QUERIES_DIR CONFIG.' \
    "Found $#. See launch/pretrain.sh." >&2
  exit 2
fi
run_dir=$1 corpus_dir=$2 queries_dir=$3 config=$4
shift 4
cd "$(dirname "$0")/.."
source launch/environment.sh

mkdir -p "$run_dir"
"$PYTHON" -m bin.refresh_index --run_dir="$run_dir" \
  --corpus_dir="$corpus_dir" >>"$run_dir/refresher.log" 2>&1 &
refresher=$!
trap 'kill "$refresher" 2>/dev/null || true' EXIT
"$PYTHON" -m bin.pretrain --run_dir="$run_dir" --corpus_dir="$corpus_dir" \
  --queries_dir="$queries_dir" --config="$config" "$@"
trap - EXIT
wait "$refresher"  # Waits for the index of the last parameters.
