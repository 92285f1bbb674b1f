#!/usr/bin/env bash
# Fine-tunes and evaluates open-domain QA on SQuAD's paragraphs.
#
#   bash launch/open_squad.sh RUN_DIR INIT_FROM SQUAD_OPEN
#
# INIT_FROM is a model directory, e.g. RUN_DIR/model of
# launch/imported_encoder.sh; SQUAD_OPEN holds {train,val}_{corpus,qa}.jsonl.gz:
# paragraphs as articles (title, text, id), and questions (question, answers,
# gold_id).
#
# First both towers learn to find a question's own paragraph among others of its
# article. Then the reader learns from that paragraph, and then to prefer it to
# the best other one. docs/results/real_text.md has results and times.
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
  --vocab_file="$init_from/vocab.txt" --max_block_wordpieces=288 \
  --output_dir="$run/corpus"
# Trained with the reader, Embed_input would memorize the training articles.
reader_only=--set=finetuning.freeze_query_tower=true
train() {  # BINARY NAME INIT_FROM FLAGS...
  local binary=$1 name=$2 from=$3
  shift 3
  [ ! -e "$run/$name/DONE" ] || return 0
  rm -rf "${run:?}/$name"
  "$PYTHON" -m "bin.$binary" --config=launch/minilm.py \
    --set=lengths.block_tokens=288 --set=lengths.title_tokens=32 \
    --set=finetuning.joint_tokens=328 \
    --corpus_dir="$run/corpus" --questions="$squad/train_qa.jsonl.gz" \
    --run_dir="$run/$name" --init_from="$from" "$@"
}
train warm_start retriever "$init_from"
train finetune gold "$run/retriever" "$reader_only"
# Another seed gives another order of the questions.
train finetune qa "$run/gold" "$reader_only" --seed=1 --set=finetuning.num_read=2 \
  --set=finetuning.optimizer.learning_rate=1e-4 \
  --set=finetuning.optimizer.num_steps=560 \
  --set=finetuning.optimizer.warmup_steps=30
evaluate() {  # NAME FLAGS...
  local name=$1
  shift
  "$PYTHON" -m bin.evaluate --model_dir="$run/qa" --recall_at=1,5,20 \
    --num_read=5 --questions="$squad/val_qa.jsonl.gz" \
    --output_dir="$run/eval_$name" "$@"
}
evaluate model --corpus_dir="$run/corpus"
evaluate hybrid --corpus_dir="$run/corpus" --sparse_weight=0.5
evaluate bm25 --corpus_dir="$run/corpus" --retriever=bm25

# A smaller corpus: only the paragraphs of the evaluated articles.
[ -e "$run/val_corpus/manifest.json" ] || "$PYTHON" -m bin.make_blocks \
  --input="$squad/val_corpus.jsonl.gz" \
  --vocab_file="$init_from/vocab.txt" --max_block_wordpieces=288 \
  --output_dir="$run/val_corpus"
compgen -G "$run/val_index/*/manifest.json" >/dev/null || "$PYTHON" \
  -m bin.build_index --model_dir="$run/qa" --corpus_dir="$run/val_corpus" \
  --output_dir="$run/val_index"
evaluate val --corpus_dir="$run/val_corpus" --index_dir="$run/val_index"
