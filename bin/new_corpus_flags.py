"""Defines what a new corpus starts from: a vocabulary, or another corpus."""

import itertools
from typing import Optional

from . import article_flags

from absl import flags

from realm_tf import errors
from realm_tf.corpus import files
from realm_tf.records import corpus_links
from realm_tf.records import corpus_update
from realm_tf.text import vocabulary_learning
from realm_tf.text import wordpiece
from realm_tf.world import inputs

_VOCAB_FILE = flags.DEFINE_string(
  'vocab_file',
  None,
  'vocab.txt or tokenizer.json; by default learned from --input.',
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
  'remove', [], 'Ids, with commas, of articles of --append to leave out'
)
_LINKS = flags.DEFINE_enum(
  'links',
  'none',
  ['none', corpus_links.MARKUP, corpus_links.TITLES],
  'Links between articles: none, those of the source, or titles in texts.',
)

flags.register_multi_flags_validator(
  [f.name for f in (_APPEND, _LINKS)],
  lambda given: not given['append'] or given['links'] == 'none',
  '--append keeps the kind of links that the corpus has: no --links with it.',
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
  return corpus_update.CorpusUpdate(_APPEND.value, _REMOVE.value)


def links() -> Optional[corpus_links.CorpusLinks]:
  """Returns the links of a new corpus; None without them."""
  kind = _LINKS.value
  return None if kind == 'none' else corpus_links.CorpusLinks(kind)


def need_no_markup(kept: Optional[corpus_links.CorpusLinks]) -> None:
  """Raises UserError if links of the source are kept: Beam cannot."""
  if kept and kept.kind == corpus_links.MARKUP:
    raise errors.UserError(
      'Links of the source need one process that reads all articles. Found '
      '--runner. Leave it out, or use a corpus with --links=titles.'
    )


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
    vocabulary_learning.learn_vocabulary(texts, _VOCAB_SIZE.value)
  )
