"""The flags that choose an index and how it is read, beside a model."""

from absl import flags

from realm_tf.answering import loading

INDEX_DIR = flags.DEFINE_string(
  'index_dir', None, "Index version to use instead of the model's newest."
)
NUM_READ = flags.DEFINE_integer(
  'num_read',
  None,
  "Blocks to read, instead of the config's number.",
  lower_bound=1,
)
ANSWER_BY = flags.DEFINE_enum(
  'answer_by',
  None,
  ['span', 'text'],
  'Answer with the best span, or with the text of the largest probability, '
  "summed over its spans; instead of the config's choice.",
)
READER_DIR = flags.DEFINE_string(
  'reader_dir',
  None,
  'Model directory whose reader reads what the retriever of --model_dir finds.',
)


def choices() -> loading.Choices:
  """Returns what these flags say of how a model answers."""
  return loading.Choices(NUM_READ.value, ANSWER_BY.value, READER_DIR.value)
