#!/usr/bin/env bash
# Makes small versions of the paper's Tables 1 and 2: what each part gains.
#
#   bash launch/tables.sh RUN_DIR MODEL SQUAD_OPEN [ARTICLES] [FLAGS...]
#
# MODEL is a Hugging Face BERT directory; SQUAD_OPEN holds {train,val}_{corpus,
# qa}.jsonl.gz as for launch/open_squad.sh. Z is all paragraphs. X is their
# sentences; in row realm_other_text, the sentences of ARTICLES. No row sees a
# question before fine-tuning. FLAGS go to every training job, e.g. --seed=1,
# but cannot override settings that define a row or its reader. ROWS=realm,ict
# in the environment makes only these rows; all are compared with the first.
# TUNED=realm fine-tunes only these rows. KEEP_HEAD=1 keeps MODEL's pooling:
# after few layers [CLS] is nearly the same for all texts. A second run resumes:
# finished stages are skipped, and a training job continues from its last
# checkpoint.
set -euo pipefail
if [ $# -lt 3 ]; then
  echo 'Three arguments must be given: RUN_DIR MODEL SQUAD_OPEN [ARTICLES]' \
    "[FLAGS...]. Found $#. See launch/tables.sh." >&2
  exit 2
fi
run=$1 model=$2 squad=$3 articles=
shift 3
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  articles=$1
  shift
fi
extra=("$@")
known=realm,ict,ict_longer,realm_random_spans,realm_random_tokens,realm_stale,\
realm_hybrid,realm_best,realm_retriever,realm_reader,bm25,encoder,\
realm_of_encoder${articles:+,realm_other_text}
rows=${ROWS:-$known} tuned=${TUNED-${ROWS:-$known}}
cd "$(dirname "$0")/.."
source launch/stages.sh
check_names ROWS "$rows" "$known"
check_names TUNED "$tuned" "$rows"
source launch/environment.sh
corpus=$run/corpus start=$run/start

# A new projection of [CLS], except in rows that start from a trained retriever.
fresh=(--set=model.embedder.head=cls --set=model.embedder.embedding_size=128
  --set=model.embedder.normalize=false --set=model.embedder.score_scale=1)
if [ -n "${KEEP_HEAD:-}" ]; then
  fresh=()
fi
config=(--config=launch/tables.py --model_of="$start"
  --set=model.embedder_bert.dropout_rate=0
  --set=model.embedder_bert.attention_dropout_rate=0
  --set=model.reader_bert.dropout_rate=0
  --set=model.reader_bert.attention_dropout_rate=0)

train() {  # BINARY NAME FLAGS...
  local binary=$1 name=$2
  shift 2
  stage "$name" "$run/$name/DONE" "$PYTHON" -m "bin.$binary" "${config[@]}" \
    --corpus_dir="$corpus" --run_dir="$run/$name" $(begin "$run/$name") \
    ${extra[@]+"${extra[@]}"} "$@"
}
realm() {  # NAME EMBEDDERS READER QUERIES FLAGS...
  local name=$1 embedders=$2 reader=$3 queries=$4
  shift 4
  stage "$name" "$run/$name/DONE" bash launch/pretrain.sh "$run/$name" \
    "$corpus" "$run/$queries" launch/tables.py "${config[@]:1}" \
    --init_from="$run/$embedders" --reader_init_from="$run/$reader" \
    $(begin "$run/$name") ${extra[@]+"${extra[@]}"} "$@"
}
evaluate() {  # NAME FLAGS...
  local name=$1
  shift
  stage "evaluate_$name" "$run/eval/$name/metrics.json" \
    "$PYTHON" -m bin.evaluate --corpus_dir="$corpus" --recall_at=1,5,20 \
    --questions="$squad/val_qa.jsonl.gz" --output_dir="$run/eval/$name" "$@"
}
row() {  # NAME EMBEDDERS READER [RETRIEVER] [FLAGS...]
  local name=$1 embedders=$run/$2 reader=$3 retriever=--retriever=${4:-model}
  shift $(($# > 4 ? 4 : $#))
  if [ "$retriever" = --retriever=model ]; then
    stage "index_${embedders##*/}" "$embedders/index" "$PYTHON" \
      -m bin.build_index --model_dir="$embedders" --corpus_dir="$corpus" \
      --output_dir="$embedders/index"
  fi
  evaluate "${name}_before" --model_dir="$embedders" "$retriever" \
    --queries_dir="$run/queries" --held_out_share=0.05
  case ",$tuned," in *",$name,"*) ;; *) return ;; esac
  train finetune "qa_$name" "$retriever" --init_from="$embedders" \
    --reader_init_from="$run/$reader" "$@" \
    --questions="$squad/train_qa.jsonl.gz"
  evaluate "$name" --model_dir="$run/qa_$name" "$retriever" --num_read=5
}
queries() {  # NAME INPUT...
  local name=$1
  shift
  stage "$name" "$run/$name/manifest.json" "$PYTHON" -m bin.make_queries \
    "${@/#/--input=}" --tagger=rules --corpus_dir="$corpus" \
    --output_dir="$run/$name"
}

paragraphs=("$squad/train_corpus.jsonl.gz" "$squad/val_corpus.jsonl.gz")
stage start "$start/params" "$PYTHON" -m bin.import_checkpoint \
  --source="hf:$model" --output_dir="$start"
stage corpus "$corpus/manifest.json" "$PYTHON" -m bin.make_blocks \
  "${paragraphs[@]/#/--input=}" --vocab_file="$start/vocab.txt" \
  --max_block_wordpieces=100 --links=titles --output_dir="$corpus"
queries queries "${paragraphs[@]}"
# REALM's reader starts from the encoder, trained to fill in masked words from
# blocks. The reader of questions starts from the encoder itself: masked words
# make it forget how to read, the more, the higher the learning rate.
warm_up_reader() {
  train pretrain reader --queries_dir="$run/queries" "${fresh[@]}" \
    --init_from="$start" --set=pretraining.candidates=recurring_span \
    --set=pretraining.num_candidates=1 --set=pretraining.oversampling=3 \
    --set=pretraining.batch_size=32 \
    --set=pretraining.optimizer.learning_rate=1.5e-4 \
    --set=pretraining.optimizer.num_steps=700
}
warm_up_embedders() {
  train warm_start ict "${fresh[@]}" --init_from="$start"
}
case ,$rows in
  *,realm*) beside warm_up_embedders warm_up_reader ;;
  *) warm_up_embedders ;;  # No row pre-trains.
esac

for name in ${rows//,/ }; do
  case $name in
    ict) row ict ict start model "${fresh[@]}" ;;
    ict_longer)
      train warm_start ict_longer "${fresh[@]}" --init_from="$start" \
        --set=inverse_cloze.optimizer.num_steps=900
      row ict_longer ict_longer start model "${fresh[@]}"
      ;;
    bm25) row bm25 ict start bm25 "${fresh[@]}" ;;
    realm | realm_retriever | realm_reader)
      realm realm ict reader queries "${fresh[@]}"
      case $name in
        realm) row realm realm realm model "${fresh[@]}" ;;
        realm_retriever) row "$name" realm start model "${fresh[@]}" ;;
        realm_reader) row "$name" ict realm model "${fresh[@]}" ;;
      esac
      ;;
    realm_random_spans | realm_random_tokens | realm_stale | realm_hybrid)
      case $name in
        realm_random_spans) changed=masking=random_span ;;
        realm_random_tokens) changed=masking=random_token ;;
        realm_stale) changed=refresh_every_steps=2250 ;;
        realm_hybrid) changed=candidates=hybrid ;;
      esac
      realm "$name" ict reader queries "${fresh[@]}" --set="pretraining.$changed"
      row "$name" "$name" start model "${fresh[@]}"
      ;;
    realm_best)  # All options that help.
      realm realm_best ict reader queries "${fresh[@]}" \
        --set=pretraining.candidates=hybrid \
        --set=pretraining.inverse_cloze_weight=1 \
        --set=inverse_cloze.query_drop_rate=0.6
      row realm_best realm_best start model "${fresh[@]}"
      ;;
    realm_other_text)
      queries other_queries "$articles"
      realm "$name" ict reader other_queries "${fresh[@]}"
      row "$name" "$name" start model "${fresh[@]}"
      ;;
    encoder) row encoder start start ;;
    realm_of_encoder)
      realm realm_of_encoder start reader queries
      row realm_of_encoder realm_of_encoder start
      ;;
  esac
done
"$PYTHON" -m bin.results_table --run_dir="$run" --rows="${rows//,/_before,}_before" \
  ${tuned:+--rows="$tuned"} --questions="$squad/val_qa.jsonl.gz"
runs=()
for name in ${tuned//,/ }; do
  runs+=(--run_dir="$run/qa_$name")
done
if [ -n "$tuned" ]; then
  "$PYTHON" -m bin.report "${runs[@]}" --results="$run/results.json" \
    --output="$run/tables.html"
fi
