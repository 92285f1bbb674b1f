"""Articles from files: JSONL, WikiExtractor's output, TensorFlow Datasets."""

from typing import NamedTuple


class Article(NamedTuple):
  """One document of the knowledge corpus."""
  title: str
  text: str
  article_id: str
