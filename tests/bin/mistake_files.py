"""Makes the files for the tests of users' mistakes."""

import os

from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import run_lock
from realm_tf.training import job as job_lib
from tests import model_dirs
from tests import tiny
from tests.bin import good_flags
from tests.serving import small_models


class Files:
  """Files for the flags of binaries; the names tell which are bad."""

  def __init__(self, directory):
    self._directory = directory
    self.missing = self._path('missing')
    self.new = self._path('new')
    self.corpus = tiny.write_corpus(directory)
    self.other_corpus = tiny.write_corpus(
      directory, [sources.Article('f', 'A b. C d.', 'other')], 'other'
    )
    self.vocabulary = os.path.join(self.corpus, 'vocab.txt')
    self.broken = self._write('broken.jsonl', '\n{"title": "a", "text"\n')
    self.questions = self._write(
      'questions.jsonl', '{"question": "a b", "answers": ["c"]}\n'
    )
    self.other_predictions = self._write(
      'predictions.jsonl', '{"question": "d e", "prediction": "f"}\n'
    )
    self.other_run = directory
    self.queries = tiny.write_queries(
      directory,
      [tiny.query([5], [[0, 1]], own_block=0)],
      corpus=block_table.BlockTable.open(self.corpus),
    )
    self.log = self._path('log')  # A run directory with only a log.
    os.mkdir(self.log)
    with open(layout.metrics_file(self.log), 'w') as file:
      file.write('{"step": 1, "loss": 2}\n')
    self.held = self._path('held')  # Another job writes it.
    run_lock.hold(self.held)
    self.model = self._path('model')
    self.other_index = self._path('other_index')
    self.retriever_only = self._path('retriever_only')
    self._make_model()

  def _path(self, name):
    return os.path.join(self._directory, name)

  def _write(self, name, text):
    with open(self._path(name), 'w') as file:
      file.write(text)
    return self._path(name)

  def _make_model(self):
    # Many binaries build the model before they find the mistake.
    shared = {'embedder': {'shared_towers': True}}
    quick = {'config': tiny.changed(small_models.CONFIG, model=shared)}
    model = small_models.write(self.model, self.corpus, **quick)
    others = job_lib.open_inputs(tiny.config(), self.other_corpus)
    model_dirs.index(others, model, self.other_index)
    parts = [realm_model.EMBEDDER]
    small_models.write(self.retriever_only, self.corpus, parts, **quick)

  def good_flags(self, name):
    """Returns correct flags for a binary."""
    values = {
      'corpus_dir': self.corpus,
      'vocab_file': self.vocabulary,
      'questions': self.questions,
      'queries_dir': self.queries,
      'before_dir': self.retriever_only,
      'source': f'hf:{self.model}',
      **dict.fromkeys(['model_dir', 'init_from'], self.model),
      **dict.fromkeys(['input', 'train'], self.broken),
      **dict.fromkeys(['output_dir', 'run_dir', 'output'], self.new),
    }
    run_dirs = {
      'refresh_index': self.model,
      'report': self.log,
      'results_table': self.other_run,
    }
    if name in run_dirs:
      values['run_dir'] = run_dirs[name]
    parts = (flag.partition('=') for flag in good_flags.ALL[name][0].split())
    return {flag: value or values[flag] for flag, _, value in parts}
