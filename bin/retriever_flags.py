"""Defines --retriever, of bin.finetune, bin.evaluate and bin.answer."""

from absl import flags

from realm_tf.retrieval import retrievers


def define(*others: str) -> flags.FlagHolder[str]:
  """Defines the flag: 'model' or one of `others`."""
  return flags.DEFINE_enum(
    'retriever',
    retrievers.MODEL,
    [retrievers.MODEL, *others],
    'How blocks are found; graph, path and bm25_graph follow links, too.',
  )


def check_together() -> None:
  """Registers what --retriever wants of bin.evaluate's other flags."""
  flags.register_multi_flags_validator(
    ['model_dir', 'retriever'],
    lambda given: (
      given['model_dir'] or given['retriever'] in retrievers.BY_WORDS
    ),
    '--model_dir must be given, unless --retriever is a search by words.',
  )
  flags.register_multi_flags_validator(
    ['retriever', 'sparse_weight'],
    lambda given: (
      given['retriever'] == retrievers.MODEL or not given['sparse_weight']
    ),
    '--sparse_weight adds BM25 to --retriever=model, and to nothing else.',
  )
  flags.register_multi_flags_validator(
    ['retriever', 'queries_dir'],
    lambda given: (
      given['retriever'] != retrievers.NOTHING or not given['queries_dir']
    ),
    '--queries_dir measures what is found: --retriever must not be none.',
  )
