#!/usr/bin/env bash
# Makes the environment, checks style and types, and runs every test.
#
#   bash launch/test.sh [pytest arguments]
#
# The first run installs the environment. The tests take some minutes on 2
# cores. Continuous integration runs this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source launch/environment.sh

# The tests run even if the style is wrong, so that one run shows all faults.
failed=
echo 'Style: ruff check, ruff format --check'
"$PYTHON" -m ruff check --quiet --output-format concise . || failed=style
"$PYTHON" -m ruff format --check --quiet --output-format concise . || failed=style

echo 'Types: mypy'
"$PYTHON" -m mypy --no-error-summary || failed="${failed:+$failed and }type"

if [ $# -eq 0 ]; then
  set -- tests/tutorial_test.py tests  # The longest file first.
fi
echo "Tests: pytest $*"
# A crashed process ends the run: without the process, pytest can wait forever.
"$PYTHON" -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
  --max-worker-restart=0 -q --durations=15 "$@"
if [ -n "$failed" ]; then
  echo "The $failed check failed: see above. To fix most style errors:" \
    "$PYTHON -m ruff check --fix . && $PYTHON -m ruff format ." >&2
  exit 1
fi
