"""Blocks that were cut elsewhere -> encoded blocks, each as it is.

  articles of one block each -> batches -> [worker: wordpieces] -> batches

Nothing is cut, dropped or found to be a duplicate: rows keep their numbers.
"""

from collections.abc import Iterable, Iterator, Sequence

from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import parallel
from realm_tf.corpus import sources
from realm_tf.records import encoded_blocks
from realm_tf.text import wordpiece

_BATCH_BLOCKS = 1024
_BATCH_CHARACTERS = 1_000_000  # Bounds the memory of one tokenizer call.


def encode(
  articles: Iterable[sources.Article],
  tokenizer: wordpiece.WordpieceTokenizer,
  num_workers: int = 1,
) -> Iterator[encoded_blocks.EncodedBlocks]:
  """Yields one block for each article, in order, duplicates and all.

  Args:
    articles: Title and text of a block; read a few batches ahead.
    tokenizer: Of the corpus.
    num_workers: Processes; no result depends on it.
  """
  return parallel.ordered_map(
    Encoder,
    (tokenizer.vocabulary,),
    sources.in_batches(articles, _BATCH_CHARACTERS, _BATCH_BLOCKS),
    num_workers,
  )


class Encoder:
  """Encodes batches; one in each worker process.

  Args:
    vocabulary: See `wordpiece.WordpieceTokenizer`.
  """

  def __init__(self, vocabulary: Sequence[str]):
    self._tokenizer = wordpiece.WordpieceTokenizer(vocabulary)

  def __call__(
    self, articles: Sequence[sources.Article]
  ) -> encoded_blocks.EncodedBlocks:
    return encoded_blocks.encode(
      list(blocks_lib.uncut_batch(articles, self._tokenizer))
    )
