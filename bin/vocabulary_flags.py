"""The flags that say which wordpieces a corpus has, and how to learn them."""

import itertools

from bin import article_flags

from absl import flags

from realm_tf.corpus import files
from realm_tf.text import wordpiece
from realm_tf.world import inputs

VOCAB_FILE = flags.DEFINE_string(
  'vocab_file', None, "Wordpieces, one per line; BERT's vocab.txt."
)
_VOCAB_SIZE = flags.DEFINE_integer(
  'vocab_size', 8000, 'Wordpieces to learn at most.', lower_bound=100
)
_VOCAB_TEXT = flags.DEFINE_multi_string(
  'vocab_text', [], 'JSONL files with "text" to learn wordpieces from too.'
)


def tokenizer(format: str) -> wordpiece.WordpieceTokenizer:  # pylint: disable=redefined-builtin
  """Returns the tokenizer that the flags name, or learn.

  Args:
    format: The value of --format.
  """
  if VOCAB_FILE.value:
    return wordpiece.WordpieceTokenizer.from_file(VOCAB_FILE.value)
  articles = article_flags.read('Learning wordpieces', format)
  texts = itertools.chain(
    (text for a in articles for text in (a.title, a.text)),
    files.read_texts(inputs.split(_VOCAB_TEXT.value)),
  )
  return wordpiece.WordpieceTokenizer(
    wordpiece.learn_vocabulary(texts, _VOCAB_SIZE.value)
  )
