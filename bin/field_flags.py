"""Defines bin.evaluate's flags of the field's formats, and follows these."""

from collections.abc import Sequence
from typing import Any, Optional

from absl import flags

from realm_tf import errors
from realm_tf.corpus import qrels as qrels_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import field_files
from realm_tf.evaluation import open_qa
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import rankings as rankings_lib
from realm_tf.records import article_lookup
from realm_tf.records import block_table
from realm_tf.rundir import output_paths

_QRELS = flags.DEFINE_string(
  'qrels',
  None,
  "Relevance of articles, in TREC's columns or BEIR's .tsv: measures R@k, "
  'MRR@10 and nDCG@10.',
)
_TREC_RUN = flags.DEFINE_string(
  'trec_run', None, 'File to write: ranked articles, for trec_eval and others.'
)
_DPR_JSON = flags.DEFINE_string(
  'dpr_json', None, 'File to write: retrieved blocks, as DPR and FiD read them.'
)
_KILT = flags.DEFINE_string(
  'kilt', None, "File to write: answers and their articles, in KILT's format."
)
_NAMES = ('qrels', 'trec_run', 'dpr_json', 'kilt')


def need_questions() -> None:
  """Makes these flags need --questions, which must be defined before."""
  flags.register_multi_flags_validator(
    ['questions', *_NAMES],
    lambda given: given.pop('questions') or not any(given.values()),
    f'--{", --".join(_NAMES)} need --questions.',
  )


def has_qrels() -> bool:
  return bool(_QRELS.value)


def check_outputs(output_dir: str) -> None:
  """Raises UserError if a file or `output_dir` cannot be written."""
  output_paths.check_directory(output_dir)
  for flag in (_TREC_RUN, _DPR_JSON, _KILT):
    if flag.value:
      output_paths.check_file(flag.value)


def judge(
  questions: Sequence[questions_lib.Question],
  table: block_table.BlockTable,
  recall_at: Sequence[int],
) -> Optional[open_qa.Judge]:
  """Returns what measures and writes as the flags say; None without them."""
  if not any(flags.FLAGS[name].value for name in _NAMES):
    return None
  if _QRELS.value and max(recall_at) < rankings_lib.CUT:
    raise errors.UserError(
      f'--qrels needs a k of at least {rankings_lib.CUT} in --recall_at, for '
      f'MRR and nDCG. Found {max(recall_at)}. Raise it.'
    )
  qrels = qrels_lib.read(_QRELS.value) if _QRELS.value else None
  ids = rankings_lib.query_ids(questions, qrels)
  if qrels:
    relevant = qrels_lib.relevant(qrels, ids)
    article_lookup.check(relevant, table, '--qrels')
  if _TREC_RUN.value:
    field_files.check_trec_ids([*ids, *table.all_article_ids()])
  seed = flags.FLAGS.seed

  def follow_flags(outcome: outcome_lib.Outcome, metrics: dict[str, Any]):
    ranked = rankings_lib.rank_articles(outcome, table.article_ids)
    if qrels:
      rankings_lib.add_metrics(metrics, qrels, ids, ranked, recall_at, seed)
    if _TREC_RUN.value:
      field_files.write_trec_run(_TREC_RUN.value, ids, ranked)
    if _DPR_JSON.value:
      field_files.write_dpr_json(_DPR_JSON.value, ids, outcome, table)
    if _KILT.value:
      field_files.write_kilt(_KILT.value, ids, outcome, ranked, table)

  return follow_flags
