#!/usr/bin/env bash
# Makes the environment of Google's TPU compiler, for bin.plan_tpu, once.
#
#   bash launch/tpu_compiler.sh      # .venv-tpu, or $REALM_TPU_VENV
#
# It is apart from the project's own: jax and TensorFlow need different versions
# of their packages. 1.1 GB; no TPU is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh

compiler=${REALM_TPU_VENV:-$PWD/.venv-tpu}
[ -x "$compiler/bin/python" ] || "$PYTHON" -m venv "$compiler"
"$compiler/bin/python" -c 'import jax, libtpu' 2>/dev/null ||
  "$compiler/bin/python" -m pip install -q 'jax==0.10.2' 'jaxlib==0.10.2' \
    'libtpu==0.0.52'
echo "TPU compiler: $compiler"
