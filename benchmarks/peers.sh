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
"$peers/bin/python" -c 'import faiss, lorann' 2>/dev/null ||
  "$peers/bin/python" -m pip install -q 'faiss-cpu==1.15.1' 'lorann==1.0.1'
# torch alone is 0.8 GB; the wheels of its own index leave CUDA's 3 GB out.
"$peers/bin/python" -c 'import importlib.util as u, sys
sys.exit(not (u.find_spec("torch") and u.find_spec("transformers")))' || {
  "$peers/bin/python" -m pip install -q 'torch==2.13.0' \
    --index-url https://download.pytorch.org/whl/cpu ||
    "$peers/bin/python" -m pip install -q 'torch==2.13.0'
  "$peers/bin/python" -m pip install -q 'transformers==4.57.6'
}
"$peers/bin/python" -c 'import sentence_transformers' 2>/dev/null ||
  "$peers/bin/python" -m pip install -q 'sentence-transformers==5.7.0' \
    'transformers==4.57.6'
"$peers/bin/python" -c 'import openvino' 2>/dev/null ||
  "$peers/bin/python" -m pip install -q 'openvino==2026.4.1'
echo "Peers: $peers"
