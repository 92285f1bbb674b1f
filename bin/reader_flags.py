"""Defines the flags that choose an index, a reader and how it answers."""

from absl import flags

from realm_tf.answering import loading

INDEX_DIR = flags.DEFINE_string(
  'index_dir', None, "Index version to search; by default the model's newest."
)
NUM_READ = flags.DEFINE_integer(
  'num_read',
  None,
  "Blocks to read per question; by default the config's number.",
  1,
)
ANSWER_BY = flags.DEFINE_enum(
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


def choices() -> loading.Choices:
  return loading.Choices(NUM_READ.value, ANSWER_BY.value, READER_DIR.value)
