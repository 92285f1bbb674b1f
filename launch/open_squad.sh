#!/usr/bin/env bash
# Open-domain QA on SQuAD's paragraphs: fine-tunes, then evaluates.
#
#   bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN
#
# INIT_FROM is a model directory, e.g. of launch/wikipedia_sample.sh;
# SQUAD_OPEN holds {train,val}_{corpus,qa}.jsonl.gz: paragraphs as articles
# (title, text, id), and questions (question, answers).
set -euo pipefail
if [ $# -ne 3 ]; then
  echo 'Three arguments must be given: RUN_DIR INIT_FROM SQUAD_OPEN. Found' \
    "$#. See launch/open_squad.sh." >&2
  exit 2
fi
run=$1 init_from=$2 squad=$3
cd "$(dirname "$0")/.."
source launch/environment.sh
mkdir -p "$run"

[ -e "$run/corpus/manifest.json" ] || "$PYTHON" -m bin.make_blocks \
  --input="$squad/train_corpus.jsonl.gz" --input="$squad/val_corpus.jsonl.gz" \
  --vocab_file="$init_from/vocab.txt" --output_dir="$run/corpus"
if [ ! -e "$run/qa/DONE" ]; then
  rm -rf "$run/qa"
  "$PYTHON" -m bin.finetune --config=launch/minilm.py \
    --set=lengths.block_tokens=288 --set=lengths.joint_tokens=384 \
    --corpus_dir="$run/corpus" --questions="$squad/train_qa.jsonl.gz" \
    --run_dir="$run/qa" --init_from="$init_from"
fi
"$PYTHON" -m bin.evaluate --model_dir="$run/qa" --corpus_dir="$run/corpus" \
  --questions="$squad/val_qa.jsonl.gz" --recall_at=1,5,20 \
  --output_dir="$run/eval"
