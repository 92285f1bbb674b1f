#!/usr/bin/env bash
# Makes the environment of the libraries that benchmarks compare with, once.
#
#   bash benchmarks/peers.sh      # .peers, or $REALM_PEERS
#
# It is apart from the project's own, which needs none of them.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh

peers=${REALM_PEERS:-$PWD/.peers}
[ -x "$peers/bin/python" ] || "$PYTHON" -m venv "$peers"
"$peers/bin/python" -c 'import numpy, tokenizers' 2>/dev/null ||
  "$peers/bin/python" -m pip install -q 'numpy>=2,<3' 'tokenizers==0.22.*'
echo "Peers: $peers"
