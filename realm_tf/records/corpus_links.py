"""Makes the links/ of a new corpus, from its source or by titles."""

from collections.abc import Iterable
from typing import Any, Optional

from realm_tf.config import names
from realm_tf.corpus import sources
from realm_tf.records import block_table
from realm_tf.records import link_graph
from realm_tf.records import named_links
from realm_tf.records import title_links


class CorpusLinks:
  """Finds the links of a corpus and writes them.

  Args:
    kind: One of `names.LINKS`.
    named: Links of the old articles of a corpus that grows.
  """

  def __init__(self, kind: str, named: Optional[named_links.NamedLinks] = None):
    self.kind = kind
    self.named = named or named_links.NamedLinks()

  @classmethod
  def of_corpus(
    cls, corpus_dir: str, manifest: dict[str, Any]
  ) -> Optional['CorpusLinks']:
    """Returns the links to extend for a larger corpus; None if it has none."""
    if not manifest.get('links'):
      return None
    kind = manifest['links']['kind']
    named = (
      named_links.NamedLinks.open(corpus_dir) if kind == names.MARKUP else None
    )
    return cls(kind, named)

  def noting(
    self, articles: Iterable[sources.Article]
  ) -> Iterable[sources.Article]:
    """Returns the new articles, and notes the links of each that is read."""
    return (
      self.named.noting(articles) if self.kind == names.MARKUP else articles
    )

  def write(self, corpus_dir: str) -> dict[str, Any]:
    """Writes the links of a local corpus; returns their manifest entry."""
    table = block_table.BlockTable(corpus_dir, {})
    if self.kind == names.MARKUP:
      self.named.save(corpus_dir, table)
      edges = self.named.edges(table)
    else:
      edges = title_links.edges(table)
    graph = link_graph.LinkGraph.from_edges(*edges, table.num_articles)
    graph.save(corpus_dir)
    return {'kind': self.kind, 'number': len(graph.targets)}
