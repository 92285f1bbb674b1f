#!/usr/bin/env bash
# Makes the environment, checks style and types, and runs every test.
#
#   bash launch/test.sh [pytest arguments]
#
# The first run installs the environment. The tests take some minutes on 2
# cores. Continuous integration runs this script.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh

# The tests run even if the style is wrong, so that one run shows all faults.
failed=
"$PYTHON" -m ruff check --quiet --output-format concise . || failed=yes
"$PYTHON" -m ruff format --check --quiet --output-format concise . || failed=yes
"$PYTHON" -m mypy --no-error-summary || failed=yes
[ $# -gt 0 ] || set -- tests
# A crashed process ends the run: without the process, pytest can wait forever.
"$PYTHON" -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
  --max-worker-restart=0 -q --durations=15 "$@"
if [ "$failed" ]; then
  echo 'Style or types are wrong: see above. `ruff check --fix .` and' \
    '`ruff format .` fix most of it.' >&2
  exit 1
fi
