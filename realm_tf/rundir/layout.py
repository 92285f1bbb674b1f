"""Names of all paths in a run directory, which is also a model directory."""

import os


def params_root(run_dir: str) -> str:
  """Returns where the trainer publishes parameter versions."""
  return os.path.join(run_dir, 'params')


def untrained_file(run_dir: str) -> str:
  """Returns the weights that a job was given but does not train."""
  return os.path.join(run_dir, 'untrained.safetensors')


def index_root(run_dir: str) -> str:
  """Returns where the refresher publishes index versions."""
  return os.path.join(run_dir, 'index')


def index_in_use_file(run_dir: str, process: int = 0) -> str:
  """Returns where a trainer process declares the index versions in use."""
  name = f'index_in_use-{process}.json' if process else 'index_in_use.json'
  return os.path.join(run_dir, name)


def checkpoint_dir(run_dir: str) -> str:
  """Returns where the trainer keeps checkpoints for --resume."""
  return os.path.join(run_dir, 'checkpoints')


def summary_dir(run_dir: str) -> str:
  """Returns the log directory of TensorBoard."""
  return os.path.join(run_dir, 'summaries')


def metrics_file(run_dir: str) -> str:
  """Returns the training log, one JSON object of numbers a line."""
  return os.path.join(run_dir, 'metrics.jsonl')


def dev_metrics_file(run_dir: str) -> str:
  """Returns the metrics on development questions, a line a step."""
  return os.path.join(run_dir, 'dev_metrics.jsonl')


def held_out_file(run_dir: str) -> str:
  """Returns the metrics on held-out sentences, a line a version."""
  return os.path.join(run_dir, 'held_out_metrics.jsonl')


def best_dir(run_dir: str) -> str:
  """Returns the model directory of the best version, if it is kept."""
  return os.path.join(run_dir, 'best')


def examples_file(run_dir: str) -> str:
  """Returns the latest example queries with their candidates."""
  return os.path.join(run_dir, 'examples.jsonl')


def vocab_file(directory: str) -> str:
  """Returns the vocabulary of a run or corpus directory."""
  return os.path.join(directory, 'vocab.txt')


def sentencepiece_file(directory: str) -> str:
  """Returns the pieces of an imported T5, which replace a vocabulary."""
  return os.path.join(directory, 'spiece.model')


def labels_file(directory: str) -> str:
  """Returns the labels of a tagger, one a line, in the order of their ids."""
  return os.path.join(directory, 'labels.txt')


def params_file(version_path: str) -> str:
  """Returns the weights of a parameter or index version."""
  return os.path.join(version_path, 'params.safetensors')


def done_file(run_dir: str) -> str:
  """Returns the marker of a training that has ended."""
  return os.path.join(run_dir, 'DONE')
