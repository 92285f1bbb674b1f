#!/usr/bin/env bash
# Makes the Python environment, then runs launch/quickstart.py.
#
#   bash launch/quickstart.sh [RUN_DIR] [--seed=1] [--set=a.b=c] [--dry_run]
#
# RUN_DIR is runs/quickstart by default. A second run goes on, and runs again
# only the stages that depend on a change.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh
exec "$PYTHON" -m launch.quickstart "$@"
