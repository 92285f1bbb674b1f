"""Flags of binaries that answer questions with a model and its index."""

from . import launcher

from absl import flags

from realm_tf.answering import answerer
from realm_tf.answering import closed_book
from realm_tf.answering import loading
from realm_tf.retrieval import retrievers

MODEL_DIR = flags.DEFINE_string(
  'model_dir', None, 'Model directory, or any run directory.'
)
INDEX_DIR = flags.DEFINE_string(
  'index_dir', None, "Index version to search; by default the model's newest."
)
_NUM_READ = flags.DEFINE_integer(
  'num_read',
  None,
  "Blocks to read per question; by default the config's number.",
  1,
)
_ANSWER_BY = flags.DEFINE_enum(
  'answer_by',
  None,
  ['span', 'text'],
  'Answer with the best span, or with the text whose spans have the largest '
  "probability in sum. By default the config's choice.",
)
READER_DIR = flags.DEFINE_string(
  'reader_dir',
  None,
  'Model directory whose reader reads the blocks that --model_dir retrieves; '
  "by default --model_dir's own.",
)
launcher.check_flags(
  lambda model_dir, reader_dir: model_dir or not reader_dir,
  '--reader_dir needs a --model_dir, which it shares the vocabulary with.',
)


def define_search() -> None:
  """Defines the flags of binaries that search and read themselves."""
  flags.DEFINE_float(
    'sparse_weight',
    0.0,
    "Weight of BM25's scores, added to those of the embeddings: finds names "
    'and numbers that training never showed. Try 0.5; 0 is embeddings alone.',
    0.0,
  )
  flags.DEFINE_enum(
    'read_dtype',
    'auto',
    ['auto', 'float32', 'bfloat16'],
    "Dtype of the reader's matmuls; 'auto' is bfloat16 if the hardware "
    'multiplies it, in half the time.',
  )


def check_retriever() -> None:
  """Makes --retriever fit the other flags of bin.evaluate."""
  launcher.check_flags(
    lambda model_dir, retriever: model_dir or retriever in retrievers.BY_WORDS,
    '--model_dir must be given, unless --retriever is a search by words.',
  )
  launcher.check_flags(
    lambda retriever, sparse_weight: (
      retriever == retrievers.MODEL or not sparse_weight
    ),
    '--sparse_weight adds BM25 to --retriever=model, and to nothing else.',
  )
  launcher.check_flags(
    lambda queries_dir, retriever, sparse_weight: (
      not queries_dir or (retriever != retrievers.NOTHING and not sparse_weight)
    ),
    '--queries_dir measures a model or BM25, and not their sum: leave out '
    '--sparse_weight and --retriever=none.',
  )


def choices() -> loading.Choices:
  """Returns the values of all flags that are called as a field of it."""
  names = [name for name in loading.Choices._fields if name in flags.FLAGS]
  return loading.Choices(**{name: flags.FLAGS[name].value for name in names})


def load() -> answerer.Answerer | closed_book.ClosedBook:
  """Returns the answerer that the flags describe, --retriever among them."""
  model_dir, corpus_dir = MODEL_DIR.value, flags.FLAGS.corpus_dir
  if choices().retriever == retrievers.NOTHING:
    return closed_book.load(model_dir, corpus_dir)
  return loading.load_answerer(
    model_dir, corpus_dir, INDEX_DIR.value, choices()
  )
