"""Pre-training queries x: made of sentences, written, and opened again.

A query has wordpieces, salient spans that may be masked, and the id of its own
block, which holds the sentence: retrieval leaves it out, as reading it would
make the prediction trivial (Section 3.4).

manifest.json   schema_version, num_queries, vocabulary_sha256, masking,
                corpus_fingerprint, num_dropped, source, files
*.npy           columns (data/columns.py); own_hashes finds the own blocks
                in another corpus
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import os
import re
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.run import manifests
from realm_tf.run import outputs
from realm_tf.text import sentences as sentences_lib
from realm_tf.text import wordpiece

SCHEMA_VERSION = 1
# Column -> type of its values.
ROWS = {'ids': np.int32, 'spans': np.int32, 'texts': np.uint8}
COLUMNS = {'own_blocks': np.int64, 'own_hashes': np.uint64} | ROWS
KIND = manifests.Kind(
  'a queries directory',
  'bin.make_queries',
  {
    'num_queries': json_text.POSITIVE,
    'schema_version': json_text.one_of(SCHEMA_VERSION),
    'vocabulary_sha256': str,
    'masking': str,
    'corpus_fingerprint': str,
    'num_dropped': dict[str, json_text.COUNT],
    'source': dict,
  },
  (
    *(f'{name}.npy' for name in COLUMNS),
    *(f'{name}.offsets.npy' for name in ROWS),
  ),
)


class Query(NamedTuple):
  """A sentence x before masking.

  Attributes:
    ids: Wordpieces without [CLS] and [SEP], int32 [L].
    spans: Tokens [start, end) that may be masked, int32 [S, 2].
    own_block: Id of the block with this sentence, or -1.
  """

  ids: np.ndarray
  spans: np.ndarray
  own_block: int = interfaces.NULL_BLOCK
  text: str = ''


class EncodedQueries(NamedTuple):
  """N queries as arrays; a row of `spans` is start, end, start, end, ..."""

  own_blocks: np.ndarray
  ids: columns.Rows
  spans: columns.Rows
  texts: columns.Rows

  def query(self, i: int) -> Query:
    return Query(
      self.ids.row(i),
      self.spans.row(i).reshape(-1, 2),
      int(self.own_blocks[i]),
      self.texts.text(i),
    )


def encode(queries: Sequence[Query]) -> EncodedQueries:
  """Returns queries as columns."""
  of_ids = columns.Rows.of_ids
  return EncodedQueries(
    np.array([query.own_block for query in queries], np.int64),
    of_ids([query.ids for query in queries]),
    of_ids([query.spans.ravel() for query in queries]),
    columns.Rows.of_texts([query.text for query in queries]),
  )


class QueryTable:
  """Memory-mapped queries X; made by `open`.

  Attributes:
    own_blocks: Block ids or -1, int64 [num_queries], in the corpus that the
      queries were made with, or in the corpus of `fit_corpus`.
  """

  def __init__(self, queries_dir: str, manifest: dict[str, Any]):
    self._dir = queries_dir
    self.manifest = manifest
    self.num_queries = manifest['num_queries']
    rows = {
      name: columns.Rows.open(queries_dir, name, dtype, self.num_queries)
      for name, dtype in ROWS.items()
    }
    self.encoded = EncodedQueries(np.asarray(self._open('own_blocks')), **rows)

  @classmethod
  def open(cls, queries_dir: str, verify: bool = False) -> 'QueryTable':
    """Opens a directory of bin.make_queries; `verify` reads all files."""
    manifest = manifests.read(queries_dir, KIND)
    manifests.check(queries_dir, manifest, verify)
    return cls(queries_dir, manifest)

  @property
  def own_blocks(self) -> np.ndarray:
    return self.encoded.own_blocks

  def query(self, i: int) -> Query:
    return self.encoded.query(i)

  def fit_corpus(self, table: block_table.BlockTable) -> None:
    """Maps `own_blocks` to any corpus, by content.

    Raises:
      UserError: It has another vocabulary, or none of the own blocks.
    """
    self._check('vocabulary_sha256', table)
    key = 'corpus_fingerprint'
    has_own = self.own_blocks != interfaces.NULL_BLOCK
    if not has_own.any() or self.manifest[key] == table.manifest[key]:
      if self.own_blocks.max() >= table.num_blocks:
        raise errors.UserError(
          f'Queries must be from the {table.num_blocks} blocks of the corpus. '
          f'Found one from block {self.own_blocks.max()} in {self._dir}. Run '
          'bin.make_queries again.'
        )
      return
    found = block_table.find_hashes(self._open('own_hashes'), table.hashes)
    own_blocks = np.where(has_own, found, interfaces.NULL_BLOCK)
    self.encoded = self.encoded._replace(own_blocks=own_blocks)
    is_found = own_blocks[has_own] != interfaces.NULL_BLOCK
    if not is_found.any():
      self._check(key, table)
    if not is_found.all():
      logging.warning(
        '%d queries have a block of their own; this corpus lacks %d of these '
        'blocks. If it was cut with other lengths, run bin.make_queries again: '
        'these queries may read their own text.',
        len(is_found),
        np.sum(~is_found),
      )

  def _open(self, name: str) -> np.ndarray:
    path = os.path.join(self._dir, f'{name}.npy')
    return columns.open_array(path, COLUMNS[name], [self.num_queries])

  def _check(self, key: str, table: block_table.BlockTable) -> None:
    if self.manifest[key] != table.manifest[key]:
      raise errors.UserError(
        f'Queries must be made with the corpus they train on. Found {key} '
        f'{str(self.manifest[key])[:12]} and a corpus with '
        f'{table.manifest[key][:12]}. Run bin.make_queries with this '
        '--corpus_dir.'
      )


_MAX_SPAN = 10  # Wordpieces; the paper masks at most 10 in a query.
_BATCH_QUERIES = 4096


def write(
  queries: Iterable[Query],
  output_dir: str,
  table: block_table.BlockTable,
  *,
  masking: str,
  source: dict[str, Any],
) -> dict[str, Any]:
  """Writes or replaces a directory of queries; returns its manifest.

  Spans above 10 wordpieces are dropped; for 'salient' masking, queries without
  a span too. 'num_dropped' of the manifest counts both. UserError if no query
  is left.

  Args:
    table: Corpus of the own blocks; its hashes find them in other corpora.
    masking: Kind of `masking.Masking`.
  """
  dropped = {'spans_too_long': 0, 'queries_without_span': 0}
  with outputs.publishing(output_dir) as (staging, manifest):
    writers = {
      name: columns.Writer(staging, name, dtype)
      for name, dtype in COLUMNS.items()
    }
    kept = _with_short_spans(queries, masking == 'salient', dropped)
    num_queries = 0
    while batch := list(itertools.islice(kept, _BATCH_QUERIES)):
      num_queries += len(batch)
      encoded = encode(batch)
      own = encoded.own_blocks
      hashes = np.where(own < 0, 0, table.hashes[np.maximum(own, 0)])
      for name, column in [('own_hashes', hashes), *encoded._asdict().items()]:
        writers[name].extend(column)
    for writer in writers.values():
      writer.close()
    if not num_queries:
      raise errors.UserError(
        'Pre-training must have at least one query. Found no span to mask in '
        f'the input ({dropped}). Check --input, or use --tagger=rules+terms.'
      )
    manifest.update(
      schema_version=SCHEMA_VERSION,
      num_queries=num_queries,
      num_dropped=dropped,
      vocabulary_sha256=table.manifest['vocabulary_sha256'],
      masking=masking,
      corpus_fingerprint=table.manifest['corpus_fingerprint'],
      source=source,
    )
  return manifest


def _with_short_spans(
  queries: Iterable[Query], needs_span: bool, dropped: dict[str, int]
) -> Iterator[Query]:
  """Yields the kept queries without long spans; counts the dropped."""
  for query in queries:
    fits = query.spans[:, 1] - query.spans[:, 0] <= _MAX_SPAN
    dropped['spans_too_long'] += int(np.sum(~fits))
    if fits.any() or not needs_span:
      yield query._replace(spans=query.spans[fits])
    else:
      dropped['queries_without_span'] += 1


_MIN_TOKENS = 6
_WITHOUT_SPAN = 'sentence without salient span'
_BATCH_SENTENCES = 8192
_GAP = '\n\0\n'  # Between blocks: no sentence has it.
# Headings, list items and leftover markup do not match.
_ENDS_LIKE_A_SENTENCE = re.compile(r'[.!?]["”’\')\]]*$')


def queries_from_articles(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  tagger: Optional[interfaces.Tagger],
  table: block_table.BlockTable,
  counts: counts_lib.Counts,
) -> Iterator[Query]:
  """Yields a query for each sentence that is long enough.

  Args:
    tagger: Finds salient spans; sentences without one are dropped. None keeps
      all, for random masks.
    table: Corpus of the own blocks; articles match it by id or title.
    counts: Receives the sentences that are kept and left out.
  """
  for batch in sources.in_batches(articles):
    texts, blocks = [], []
    for article in batch:
      own = split(article.text, counts)
      texts += own
      blocks += find_own_blocks(own, article.article_id, article.title, table)
    found = tagger.tag(texts) if tagger else [[] for _ in texts]
    for spans, query in zip(
      found, _make_queries(texts, found, blocks, tokenizer), strict=True
    ):
      if not query:
        counts.drop('short sentence')
      elif tagger and not len(query.spans):
        counts.drop(_WITHOUT_SPAN)
      else:
        counts.keep('sentences')
        counts.keep('spans', len(spans))
        counts.add_examples('spans', [query.text[a:b] for a, b in spans])
        yield query


def describe_spans(counts: counts_lib.Counts) -> str:
  """Returns how many spans there are, and advice if few sentences have one."""
  text = ''
  if number := counts.kept['spans']:
    text = f' Spans: {number:,}, such as {", ".join(counts.examples["spans"])}.'
  kept, left_out = counts.kept['sentences'], counts.left_out[_WITHOUT_SPAN]
  if left_out > kept:
    text += (
      f' Only {kept:,} of {kept + left_out:,} sentences have a span. For more, '
      'use --tagger=rules+terms, or add articles on the same subjects.'
    )
  return text


def queries_from_sentences(
  sentences: Iterable[sources.TaggedSentence],
  tokenizer: wordpiece.WordpieceTokenizer,
  table: block_table.BlockTable,
) -> Iterator[Query]:
  """Yields a query for each sentence that is long enough."""
  sentences = iter(sentences)
  while batch := list(itertools.islice(sentences, _BATCH_SENTENCES)):
    blocks = []
    for (article_id, title), group in itertools.groupby(
      batch, lambda sentence: (sentence.article_id, sentence.title)
    ):
      texts = [sentence.text for sentence in group]
      blocks += find_own_blocks(texts, article_id, title, table)
    queries = _make_queries(
      [sentence.text for sentence in batch],
      [sentence.spans for sentence in batch],
      blocks,
      tokenizer,
    )
    yield from filter(None, queries)


def find_own_blocks(
  sentences: Sequence[str],
  article_id: str,
  title: str,
  table: block_table.BlockTable,
) -> list[int]:
  """Returns the block that holds each sentence of an article, or -1.

  Sentences must be in the article's order. The title, unless it is '', finds an
  article that has another id in the corpus.
  """
  ids = table.find_article(article_id)
  if title:
    ids = np.union1d(ids, table.find_title(title))
  bodies = table.texts(ids)
  text = _GAP.join(bodies)
  starts = np.cumsum([0] + [len(body) + len(_GAP) for body in bodies])
  found: list[int] = []
  last = 0
  for sentence in sentences:
    # Sentences come in order, so the search continues from the last hit.
    place = text.find(sentence, last)
    if place < 0:  # Only the text before it is left.
      place = text.find(sentence, 0, last + len(sentence) - 1)
    if place < 0:
      found.append(interfaces.NULL_BLOCK)
      continue
    found.append(int(ids[np.searchsorted(starts, place, 'right') - 1]))
    last = place
  return found


def split(text: str, counts: counts_lib.Counts) -> list[str]:
  """Returns the sentences of a text, without headings and list items."""
  spans = sentences_lib.split_sentences(text)
  sentences = [
    text[start:end]
    for start, end in spans
    if _ENDS_LIKE_A_SENTENCE.search(text, start, end)
  ]
  counts.drop('heading or list item', len(spans) - len(sentences))
  return sentences


def _make_queries(
  texts: Sequence[str],
  spans: Sequence[Sequence[tuple[int, int]]],
  blocks: Sequence[int],
  tokenizer: wordpiece.WordpieceTokenizer,
) -> Iterator[Optional[Query]]:
  """Yields the query of each text, or None if it is short."""
  for text, tokens, found, block in zip(
    texts, tokenizer.tokenize_batch(texts), spans, blocks
  ):
    if len(tokens.ids) < _MIN_TOKENS:
      yield None
      continue
    token_spans = [
      span for start, end in found if (span := tokens.span(start, end))
    ]
    yield Query(
      ids=tokens.ids,
      spans=np.array(token_spans, np.int32).reshape(-1, 2),
      own_block=block,
      text=text,
    )
