"""The paths in a run directory, which is also a model directory."""

import os


def params_root(run_dir: str) -> str:
  """Returns the directory of the trainer's parameter versions."""
  return os.path.join(run_dir, 'params')


def untrained_file(run_dir: str) -> str:
  """Returns the file of weights that a job needs but does not train."""
  return os.path.join(run_dir, 'untrained.safetensors')


def index_root(run_dir: str) -> str:
  """Returns the directory of the refresher's index versions."""
  return os.path.join(run_dir, 'index')


def index_in_use_file(run_dir: str, process: int = 0) -> str:
  """Returns the file that lists a trainer process's index versions in use."""
  name = f'index_in_use-{process}.json' if process else 'index_in_use.json'
  return os.path.join(run_dir, name)


def checkpoint_dir(run_dir: str) -> str:
  """Returns the directory of the trainer's checkpoints, for --resume."""
  return os.path.join(run_dir, 'checkpoints')


def summary_dir(run_dir: str) -> str:
  """Returns TensorBoard's log directory."""
  return os.path.join(run_dir, 'summaries')


def metrics_file(run_dir: str) -> str:
  """Returns the training log, with one JSON object of numbers per line."""
  return os.path.join(run_dir, 'metrics.jsonl')


def dev_metrics_file(run_dir: str) -> str:
  """Returns the file of metrics on development questions, a line per step."""
  return os.path.join(run_dir, 'dev_metrics.jsonl')


def held_out_file(run_dir: str) -> str:
  """Returns the file of metrics on held-out sentences, a line per version."""
  return os.path.join(run_dir, 'held_out_metrics.jsonl')


def best_dir(run_dir: str) -> str:
  """Returns the model directory of the best version, if the job keeps one."""
  return os.path.join(run_dir, 'best')


def examples_file(run_dir: str) -> str:
  """Returns the file of example queries with their candidates."""
  return os.path.join(run_dir, 'examples.jsonl')


def vocab_file(directory: str) -> str:
  """Returns the vocabulary file of a run or corpus directory."""
  return os.path.join(directory, 'vocab.txt')


def sentencepiece_file(directory: str) -> str:
  """Returns the file of an imported T5's pieces, in place of vocab.txt."""
  return os.path.join(directory, 'spiece.model')


def labels_file(directory: str) -> str:
  """Returns the file of a tagger's labels, one per line, by id."""
  return os.path.join(directory, 'labels.txt')


def params_file(version_path: str) -> str:
  """Returns the file of a parameter or index version's weights."""
  return os.path.join(version_path, 'params.safetensors')


def done_file(run_dir: str) -> str:
  """Returns the file that marks the end of training."""
  return os.path.join(run_dir, 'DONE')
