"""Counts of a text, from which the sizes of a training follow."""

from typing import NamedTuple


class Survey(NamedTuple):
  """Counts of a text; words and sentences are estimates from a sample.

  Attributes:
    num_names: Different titles; an article without one counts by its id.
    long_article: Words that nine tenths of the articles do not exceed.
    num_sentences: Sentences with a name or a date.
    num_recurring: Sentences with a name or a date that another part of the
      sample has, too.
    held_out_share: `held_out.share` that holds out a tenth of the names.
  """

  num_articles: int
  num_names: int
  num_words: int
  long_article: int
  num_sentences: int
  num_recurring: int
  held_out_share: float
