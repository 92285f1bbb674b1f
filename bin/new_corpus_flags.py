"""Defines what a new corpus starts from: a vocabulary, or another corpus."""

import itertools
from typing import Optional

from . import article_flags

from absl import flags

from realm_tf.corpus import files
from realm_tf.records import corpus_update
from realm_tf.text import wordpiece
from realm_tf.world import inputs

_VOCAB_FILE = flags.DEFINE_string(
  'vocab_file',
  None,
  'Wordpieces, one per line; by default learned from --input.',
)
_VOCAB_SIZE = flags.DEFINE_integer(
  'vocab_size', 8000, 'Most wordpieces to learn.', 100
)
_VOCAB_TEXT = flags.DEFINE_multi_string(
  'vocab_text', [], 'JSONL file whose "text" teaches wordpieces, too'
)
_APPEND = flags.DEFINE_string(
  'append', None, 'Corpus directory whose blocks the new corpus begins with.'
)
_REMOVE = flags.DEFINE_multi_string(
  'remove', [], 'Ids of articles of --append to leave out'
)

flags.register_multi_flags_validator(
  [f.name for f in (article_flags.INPUT, _APPEND, _REMOVE)],
  lambda given: given['input'] or (given['append'] and given['remove']),
  '--input must be given, or --append with articles to --remove.',
)
flags.register_multi_flags_validator(
  [f.name for f in (_APPEND, _REMOVE, _VOCAB_FILE)],
  lambda given: (
    not given['vocab_file'] if given['append'] else not given['remove']
  ),
  '--remove needs --append, whose vocabulary stays: no --vocab_file with it.',
)


def update() -> Optional[corpus_update.CorpusUpdate]:
  """Returns the corpus to begin with; None for a new one."""
  if not _APPEND.value:
    return None
  return corpus_update.CorpusUpdate(_APPEND.value, inputs.split(_REMOVE.value))


def tokenizer(format: str) -> wordpiece.WordpieceTokenizer:  # pylint: disable=redefined-builtin
  """Returns the tokenizer of --vocab_file, or of wordpieces learned now.

  Args:
    format: The value of --format.
  """
  if _VOCAB_FILE.value:
    return wordpiece.WordpieceTokenizer.from_file(_VOCAB_FILE.value)
  articles = article_flags.read('Learning wordpieces', format)
  texts = itertools.chain(
    (text for a in articles for text in (a.title, a.text)),
    files.read_texts(inputs.split(_VOCAB_TEXT.value)),
  )
  return wordpiece.WordpieceTokenizer(
    wordpiece.learn_vocabulary(texts, _VOCAB_SIZE.value)
  )
