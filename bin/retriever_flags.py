"""Defines --retriever, of bin.finetune and bin.evaluate."""

from absl import flags

from realm_tf.retrieval import word_search

_BY_WORDS = word_search.NAMES


def define(*others: str) -> flags.FlagHolder[str]:
  """Defines the flag: the model, a search by words, or one of `others`."""
  return flags.DEFINE_enum(
    'retriever',
    'model',
    ['model', *_BY_WORDS, *others],
    'How blocks are found.',
  )


def check_together() -> None:
  """Registers what --retriever wants of bin.evaluate's other flags."""
  flags.register_multi_flags_validator(
    ['model_dir', 'retriever'],
    lambda given: given['model_dir'] or given['retriever'] in _BY_WORDS,
    '--model_dir must be given, unless --retriever is bm25 or tfidf.',
  )
  flags.register_multi_flags_validator(
    ['retriever', 'sparse_weight'],
    lambda given: given['retriever'] == 'model' or not given['sparse_weight'],
    '--sparse_weight adds BM25 to --retriever=model, and to nothing else.',
  )
  flags.register_multi_flags_validator(
    ['retriever', 'queries_dir'],
    lambda given: given['retriever'] != 'none' or not given['queries_dir'],
    '--queries_dir measures what is found: --retriever must not be none.',
  )
