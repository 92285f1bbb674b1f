"""The flags of a corpus that begins with another."""

from typing import Optional

from bin import article_flags
from bin import vocabulary_flags

from absl import flags

from realm_tf.records import corpus_update
from realm_tf.world import inputs

_APPEND = flags.DEFINE_string(
  'append', None, 'Corpus directory that the new one begins with.'
)
_REMOVE = flags.DEFINE_multi_string(
  'remove', [], 'Ids of articles of --append that are left out; repeatable.'
)

flags.register_multi_flags_validator(
  [f.name for f in (article_flags.INPUT, _APPEND, _REMOVE)],
  lambda given: given['input'] or (given['append'] and given['remove']),
  '--input must be given, or --append with articles to --remove.',
)
flags.register_multi_flags_validator(
  [f.name for f in (_APPEND, _REMOVE, vocabulary_flags.VOCAB_FILE)],
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
