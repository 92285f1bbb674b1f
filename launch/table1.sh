#!/usr/bin/env bash
# Makes a small version of the paper's Table 1: REALM and its rivals.
#
#   bash launch/table1.sh RUN_DIR CONFIG TRAIN TEST[,TEST...] [FLAGS...]
#
# RUN_DIR is a finished run of launch/quickstart.sh or launch/tables.sh; CONFIG
# is the script's module, launch/*.py. TRAIN and TEST are questions; each TEST
# makes a table. FLAGS go to every training job, e.g. --seed=1. ROWS=realm,t5 in
# the environment makes only these rows. TABLE=two_hops replaces the name
# table1, for other TRAIN questions in the same RUN_DIR. RUN_DIR/table1.html has
# all tables and curves. A second run resumes: finished stages are skipped.
set -euo pipefail
if [ $# -lt 4 ]; then
  echo 'Four arguments must be given: RUN_DIR CONFIG TRAIN TEST [FLAGS...].' \
    "Found $#. See launch/table1.sh." >&2
  exit 2
fi
run=$1 config=$2 train=$3 test=$4
shift 4
extra=("$@")
cd "$(dirname "$0")/.."
source launch/stages.sh
table=${TABLE:-table1}
# Readers start from the imported encoder, or from quickstart.sh's span reader.
queries=$run/queries reader=$run/start
if [ -e "$run/span_reader" ]; then
  queries=$run/reader_queries reader=$run/span_reader
fi
known=realm,orqa,bm25,tfidf,hard_em,t5,graph,path
rows=${ROWS:-$known}
check_names ROWS "$rows" "$known"
source launch/environment.sh

job() {  # BINARY NAME FLAGS...
  local binary=$1 name=$2
  shift 2
  stage "$name" "$run/$name/DONE" "$PYTHON" -m "bin.$binary" \
    --config="$config" --corpus_dir="$run/corpus" --run_dir="$run/$name" \
    $(begin "$run/$name") "$@" ${extra[@]+"${extra[@]}"}
}
evaluate() {  # NAME RETRIEVER
  local file out
  for file in ${test//,/ }; do
    out=$(result "$1" "$file")
    stage "evaluate_$out" "$run/eval/$out/metrics.json" \
      "$PYTHON" -m bin.evaluate --model_dir="$run/${table}_$1" \
      --retriever="$2" --corpus_dir="$run/corpus" --questions="$file" \
      --num_read=5 --output_dir="$run/eval/$out"
  done
}
result() {  # NAME TEST
  local file=${2##*/}
  echo "${table}_$1_${file%.jsonl*}"
}
row() {  # NAME EMBEDDERS RETRIEVER [FLAGS...]
  local name=$1 embedders=$2 retriever=$3
  shift 3
  job finetune "${table}_$name" --retriever="$retriever" --questions="$train" \
    --model_of="$run/realm" --init_from="$run/$embedders" \
    --reader_init_from="$reader" "$@"
  evaluate "$name" "$retriever"
}

for name in ${rows//,/ }; do
  case $name in
    realm) row realm realm model ;;
    orqa) row orqa ict model ;;
    bm25 | tfidf) row "$name" ict "$name" ;;
    # The next two rows need a corpus of make_blocks --links.
    graph) row graph ict bm25_graph ;;
    path)
      job train_path "${table}_paths" --questions="$train" \
        --model_of="$run/realm" --init_from="$run/realm"
      row path "${table}_paths" path
      ;;
    hard_em) row hard_em ict bm25 --set=finetuning.objective=hard_em ;;
    t5)
      job train_closed_book t5 --queries_dir="$queries"
      job train_closed_book "${table}_t5" --init_from="$run/t5" --questions="$train"
      evaluate t5 none
      ;;
  esac
done
results=()
for file in ${test//,/ }; do
  systems=
  for name in ${rows//,/ }; do
    systems=$systems${systems:+,}$(result "$name" "$file")
  done
  "$PYTHON" -m bin.results_table --run_dir="$run" --questions="$file" \
    --rows="$systems" --costs --output="$run/$(result all "$file").json"
  results+=(--results="$run/$(result all "$file").json")
done
runs=()
for name in ${rows//,/ }; do
  runs+=(--run_dir="$run/${table}_$name")
done
"$PYTHON" -m bin.report "${runs[@]}" "${results[@]}" --output="$run/$table.html"
