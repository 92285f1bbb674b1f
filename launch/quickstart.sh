#!/usr/bin/env bash
# Runs the main job on the embedded world, from text to answers with evidence.
#
#   bash launch/quickstart.sh [RUN_DIR] [FLAGS...]
#
# RUN_DIR is runs/quickstart by default; FLAGS go to every training job, e.g.
# --seed=1. A second run resumes: finished stages are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/environment.sh

run=${1:-runs/quickstart}
shift || true
extra=("$@")
config=launch/quickstart.py
world=$run/world corpus=$run/corpus qa=$run/qa_realm_all
source launch/stages.sh

train() {  # BINARY RUN_DIR FLAGS...
  local binary=$1 run_dir=$2
  shift 2
  # Removes an interrupted run.
  rm -rf "$run_dir"
  "$PYTHON" -m "bin.$binary" --config=$config --corpus_dir="$corpus" \
    --run_dir="$run_dir" "$@" ${extra[@]+"${extra[@]}"}
}

pretrain_realm() {
  rm -rf "$run/realm"
  bash launch/pretrain.sh "$run/realm" "$corpus" "$run/queries" $config \
    --init_from="$run/ict" --reader_init_from="$run/reader" \
    ${extra[@]+"${extra[@]}"}
}

# Two test sets ask for the same facts: in words of the articles, and reworded,
# in words that only the pre-training sentences use.
evaluate() {  # NAME FLAGS...
  local name=$1 words
  shift
  for words in '' reworded_; do
    stage "evaluate_$words$name" "$run/eval/$words$name/metrics.json" \
      "$PYTHON" -m bin.evaluate --corpus_dir="$corpus" \
      --questions="$world/${words}test_questions.jsonl" --num_read=5 \
      --output_dir="$run/eval/$words$name" "$@"
  done
}

stage world "$world/test_questions.jsonl" \
  "$PYTHON" -m bin.make_world --config=$config --output_dir="$world"
stage corpus "$corpus/manifest.json" \
  "$PYTHON" -m bin.make_blocks --input="$world/articles.jsonl" \
  --vocab_text="$world/sentences.jsonl" --max_block_wordpieces=32 \
  --links=titles --output_dir="$corpus"
stage queries "$run/queries/manifest.json" \
  "$PYTHON" -m bin.make_queries --input="$world/sentences.jsonl" \
  --format=tagged --corpus_dir="$corpus" --output_dir="$run/queries"
stage reader_queries "$run/reader_queries/manifest.json" \
  "$PYTHON" -m bin.make_queries --input="$world/sentences.jsonl" \
  --input="$world/statements.jsonl" \
  --format=tagged --corpus_dir="$corpus" --output_dir="$run/reader_queries"
stage ict "$run/ict/DONE" train warm_start "$run/ict"
stage ict_index "$run/ict/index" \
  "$PYTHON" -m bin.build_index --model_dir="$run/ict" \
  --corpus_dir="$corpus" --output_dir="$run/ict/index"
# The reader's warm-up, from text alone: it fills in a masked sentence from a
# block with the masked words, found by BM25.
stage reader "$run/reader/DONE" \
  train pretrain "$run/reader" --queries_dir="$run/reader_queries" \
  --init_from="$run/ict" --set=pretraining.candidates=recurring_span \
  --set=pretraining.oversampling=3 \
  --set=pretraining.num_candidates=1 --set=pretraining.batch_size=64 \
  --set=pretraining.optimizer.learning_rate=3e-3 \
  --set=pretraining.optimizer.num_steps=2000
# The reader's second half, still from text alone: a sentence with a blank for a
# name is a question, and a block found by BM25 has the answer.
learn_spans() {
  stage span_reader "$run/span_reader/DONE" \
    train finetune "$run/span_reader" --retriever=bm25 \
    --queries_dir="$run/reader_queries" --init_from="$run/reader" \
    --set=finetuning.num_read=1 --set=finetuning.optimizer.num_steps=1500
}
# REALM learns the words of the sentences, and forgets some words of the
# articles that ICT taught. The average of both weights knows both, so it is the
# retriever until questions teach the articles' words again.
realm() {
  stage realm "$run/realm/DONE" pretrain_realm
  stage average "$run/model/params" "$PYTHON" -m bin.average_models \
    --model_dir="$run/realm" --before_dir="$run/ict" --weight=0.7 \
    --output_dir="$run/model"
  stage model_index "$run/model/index" \
    "$PYTHON" -m bin.build_index --model_dir="$run/model" \
    --corpus_dir="$corpus" --output_dir="$run/model/index"
}

# Three retrievers with one reader, before and after training on questions.
head -n 1000 "$world/train_questions.jsonl" >"$run/1000_questions.jsonl"
row() {  # NAME EMBEDDERS RETRIEVER [EMBEDDERS_BEFORE_QUESTIONS]
  local name=$1 embedders=$2 retriever=--retriever=$3
  evaluate "${name}_0" --model_dir="${4:-$embedders}" "$retriever" \
    --reader_dir="$run/span_reader"
  tuned "${name}_1000" "$run/1000_questions.jsonl" 200
  tuned "${name}_all" "$world/train_questions.jsonl" 700
}
tuned() {  # NAME QUESTIONS STEPS; reads the variables of row()
  stage "qa_$1" "$run/qa_$1/DONE" \
    train finetune "$run/qa_$1" "$retriever" --questions="$2" \
    --init_from="$embedders" --reader_init_from="$run/span_reader" \
    --set=finetuning.optimizer.num_steps=$3
  evaluate "$1" --model_dir="$run/qa_$1" "$retriever"
}
realm_row() {
  row realm "$run/realm" model "$run/model"
  # The same models, with BM25's scores added in search.
  evaluate hybrid_0 --model_dir="$run/model" --sparse_weight=1 \
    --reader_dir="$run/span_reader"
  for number in 1000 all; do
    evaluate hybrid_$number --model_dir="$run/qa_realm_$number" --sparse_weight=1
  done
}
ict_row() { row ict "$run/ict" model; }
bm25_row() { row bm25 "$run/ict" bm25; }
# Two jobs of about equal length. beside() waits for the first one first and
# stops both if it fails, so the second cannot wait forever.
spans_and_rows() {
  learn_spans
  ict_row
  bm25_row
}
realm_and_row() {
  realm
  until [ -e "$run/span_reader/DONE" ]; do sleep 1; done
  realm_row
}
beside spans_and_rows realm_and_row
echo "total $SECONDS" >>"$run/seconds.txt"  # Stages overlap: no sum of them.
for words in '' reworded_; do
  echo "Questions in words of ${words:+other text than }the articles:"
  rows=()
  for number in 0 1000 all; do
    names=${words}realm_$number,${words}hybrid_$number
    rows+=(--rows="$names,${words}ict_$number,${words}bm25_$number")
  done
  "$PYTHON" -m bin.results_table --run_dir="$run" "${rows[@]}" \
    --questions="$world/${words}test_questions.jsonl" \
    --output="$run/${words}results.json" 2>/dev/null
done
stage report "$run/report.html" "$PYTHON" -m bin.report \
  --run_dir="$run/realm" --run_dir="$qa" --eval_dir="$run/eval/realm_all" \
  --results="$run/results.json" --results="$run/reworded_results.json" \
  --output="$run/report.html"

echo 'Three questions about entities that no training question asks about:'
answer() { "$PYTHON" -m bin.answer --model_dir="$qa" --top_k=2 "$@" 2>/dev/null; }
head -n 3 "$world/test_questions.jsonl" | "$PYTHON" -c \
  'import json, sys; [print(json.loads(line)["question"]) for line in sys.stdin]' \
  | answer --corpus_dir="$corpus"

echo 'One fact changed in one article, and only the corpus indexed again:'
stage change "$run/changed/changed.json" \
  "$PYTHON" -m bin.change_fact --config=$config \
  --questions="$world/test_questions.jsonl" \
  --predictions="$run/eval/realm_all/predictions.jsonl" --output_dir="$run/changed"
stage changed_corpus "$run/changed/corpus/manifest.json" \
  "$PYTHON" -m bin.make_blocks --input="$run/changed/articles.jsonl" \
  --max_block_wordpieces=32 --vocab_file="$corpus/vocab.txt" \
  --output_dir="$run/changed/corpus"
stage changed_index "$run/changed/index" \
  "$PYTHON" -m bin.build_index --model_dir="$qa" \
  --corpus_dir="$run/changed/corpus" --output_dir="$run/changed/index"
cat "$run/changed/changed.json"
question=$("$PYTHON" -c 'import json, sys
print(json.load(open(sys.argv[1]))["question"])' "$run/changed/changed.json")
answer --corpus_dir="$corpus" --question="$question"
answer --corpus_dir="$run/changed/corpus" --index_dir="$run/changed/index" \
  --question="$question"
echo "Ask more: $PYTHON -m bin.answer --model_dir=$qa --corpus_dir=$corpus" \
  '--question="..."'
echo "$SECONDS seconds in all."
