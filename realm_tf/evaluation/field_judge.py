"""Measures retrieved blocks by qrels, and writes them for other tools."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from realm_tf.corpus import qrels as qrels_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import field_files
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import rankings
from realm_tf.records import article_lookup
from realm_tf.records import block_table

_DEPTH = 1000  # As of a TREC run.


class Paths(NamedTuple):
  """A file to read, `qrels`, and files to write; None leaves one out."""

  qrels: Optional[str] = None
  trec_run: Optional[str] = None
  dpr_json: Optional[str] = None
  kilt: Optional[str] = None

  def outputs(self) -> list[str]:
    return [path for path in self[1:] if path]


class FieldJudge:
  """An `open_qa.Judge` that reads and writes the files of `paths`.

  Attributes:
    num_blocks: Blocks that are ranked as articles. Ten may be of one article,
      so they are more than any rank that counts.

  Raises UserError if qrels do not fit the questions or the corpus, or if an id
  does not fit a TREC run.
  """

  def __init__(
    self,
    paths: Paths,
    questions: Sequence[questions_lib.Question],
    table: block_table.BlockTable,
    *,
    recall_at: Sequence[int],
    seed: int,
  ):
    self._paths, self._table = paths, table
    self._recall_at, self._seed = recall_at, seed
    self._qrels = qrels_lib.read(paths.qrels) if paths.qrels else None
    self.num_blocks = _DEPTH if paths.qrels or paths.trec_run else 0
    self._ids = rankings.query_ids(questions, self._qrels)
    if self._qrels:
      relevant = qrels_lib.relevant(self._qrels, self._ids)
      article_lookup.check(relevant, table, '--qrels')
    if paths.trec_run:
      field_files.check_trec_ids([*self._ids, *table.all_article_ids()])

  def __call__(
    self, outcome: outcome_lib.Outcome, metrics: dict[str, Any]
  ) -> None:
    paths, ids, table = self._paths, self._ids, self._table
    ranked = rankings.rank_articles(outcome, table.article_ids)
    if self._qrels:
      rankings.add_metrics(
        metrics, self._qrels, ids, ranked, self._recall_at, self._seed
      )
    if paths.trec_run:
      field_files.write_trec_run(paths.trec_run, ids, ranked)
    if paths.dpr_json:
      best = outcome.first(max(self._recall_at))
      field_files.write_dpr_json(paths.dpr_json, ids, best, table)
    if paths.kilt:
      field_files.write_kilt(paths.kilt, ids, outcome, ranked, table)
