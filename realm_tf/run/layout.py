"""The paths in a run directory, which is also a model directory."""

from collections.abc import Callable
import os


def _named(name: str) -> Callable[[str], str]:
  """Returns a function: directory -> path of the file `name` in it."""
  return lambda directory: os.path.join(directory, name)


# Versions: of the trainer's parameters, and of the refresher's indexes.
params_root = _named('params')
index_root = _named('index')
checkpoint_dir = _named('checkpoints')  # The trainer's, for --resume.
best_dir = _named('best')  # Model directory of the best version, if any.
untrained_file = _named('untrained.safetensors')  # Needed, but not trained.
data_file = _named('data.json')  # Digests of the data that a run began with.
done_file = _named('DONE')  # Marks the end of training.

# Metrics: of training; on development questions, a line per step; on held-out
# sentences, a line per version.
metrics_file = _named('metrics.jsonl')
dev_metrics_file = _named('dev_metrics.jsonl')
held_out_file = _named('held_out_metrics.jsonl')
summary_dir = _named('summaries')  # TensorBoard's logs.
examples_file = _named('examples.jsonl')  # Queries with their candidates.

# In run and corpus directories; an imported T5 has spiece.model instead.
vocab_file = _named('vocab.txt')
sentencepiece_file = _named('spiece.model')
labels_file = _named('labels.txt')  # A tagger's, one per line, by id.

# In a version of parameters or of an index.
params_file = _named('params.safetensors')


def index_in_use_file(run_dir: str, process: int = 0) -> str:
  """Returns the file that lists a trainer process's index versions in use."""
  name = f'index_in_use-{process}.json' if process else 'index_in_use.json'
  return os.path.join(run_dir, name)
