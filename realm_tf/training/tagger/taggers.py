"""Opens a tagger of salient spans by the value of --tagger."""

from collections.abc import Callable, Iterator

import numpy as np

from realm_tf import errors
from realm_tf.corpus import rules_tagger
from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms as terms_lib
from realm_tf.data import block_table
from realm_tf.training.tagger import bert_tagger

_TERMS = '+terms'
# Counts of more text find the same terms, and take memory: 40 bytes each.
_MOST_WORDPIECES = 25_000_000


def make(
  spec: str,
  num_workers: int = 1,
  find_terms: Callable[[], terms_lib.Terms] = lambda: terms_lib.find([]),
) -> salient_spans.Tagger:
  """Returns the tagger of e.g. 'rules', 'bert:DIR', 'terms' or 'rules+terms'.

  Args:
    find_terms: Returns the terms for 'terms'.
  """
  kind, _, name = spec.partition(':')
  if spec == 'terms':
    return terms_lib.TermsTagger(find_terms())
  if spec.endswith(_TERMS):
    first = make(spec.removesuffix(_TERMS), num_workers, find_terms)
    return terms_lib.TermsTagger(find_terms(), first)
  if spec == 'rules':
    return rules_tagger.RulesTagger()
  if kind == 'spacy' and name:
    return salient_spans.SpacyTagger(name, num_workers)
  if kind == 'bert' and name:
    return bert_tagger.load(name)
  raise errors.UserError(
    "--tagger must be 'rules', 'spacy:NAME' or 'bert:DIR', each also with "
    f"'+terms', or 'terms'. Found {spec!r}."
  )


def terms_of(table: block_table.BlockTable) -> terms_lib.Terms:
  """Returns a corpus's terms; a large one's from evenly spread articles."""
  return terms_lib.find(_articles(table))


def _articles(table: block_table.BlockTable) -> Iterator[list[str]]:
  """Yields the texts of the blocks of articles."""
  _, lengths = table.lengths()
  step = 1 + int(lengths.sum(dtype=np.int64)) // _MOST_WORDPIECES
  ends = np.cumsum(np.bincount(table.article_rows))
  for row in range(0, len(ends), step):
    start = ends[row - 1] if row else 0
    yield table.texts(range(start, ends[row]))
