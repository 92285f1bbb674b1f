#!/usr/bin/env bash
# Makes the environment and runs every test; what continuous integration runs.
#
#   bash launch/test.sh [pytest arguments]
#
# The first run installs (see launch/environment.sh); the tests themselves take
# some minutes on 2 cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/environment.sh

echo 'Style: ruff check, ruff format --check'
"$PYTHON" -m ruff check .
"$PYTHON" -m ruff format --check .

if [ $# -eq 0 ]; then
  set -- tests
fi
echo "Tests: pytest $*"
"$PYTHON" -m pytest -n 2 --dist loadfile -q --durations=5 "$@"
