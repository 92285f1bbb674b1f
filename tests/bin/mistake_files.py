"""Makes the files for the tests of users' mistakes."""

import os

from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from tests import model_index
from tests import tiny
from tests.bin import good_flags


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
    self.log = {
      name: self._make_log(name, text)
      for name, text in (
        ('good', '{"step": 1, "loss": 2}\n'),
        ('broken', '{"step": 1, "loss": 2}\n{"step": 2, "lo\n'),
        ('empty', ''),
      )
    }
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

  def _make_log(self, name, text):
    """Returns a run directory with only a log."""
    path = self._path(f'log_{name}')
    os.mkdir(path)
    with open(layout.metrics_file(path), 'w') as file:
      file.write(text)
    return path

  def _make_model(self):
    inputs = job_lib.open_inputs(tiny.config(), self.corpus)
    job_lib.Job(self.model).begin(inputs.config, inputs.vocab_file)
    model = realm_model.RealmModel(
      inputs.config.model, [realm_model.EMBEDDER, realm_model.SPAN]
    )
    params_export.publish(self.model, 0, model)
    for root, corpus_dir in (
      (layout.index_root(self.model), self.corpus),
      (self.other_index, self.other_corpus),
    ):
      model_index.build(inputs, model, corpus_dir, root)
    job_lib.Job(self.retriever_only).begin(inputs.config, inputs.vocab_file)
    params_export.publish(
      self.retriever_only,
      0,
      realm_model.RealmModel(inputs.config.model, [realm_model.EMBEDDER]),
    )

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
      'report': self.log['good'],
      'results_table': self.other_run,
    }
    if name in run_dirs:
      values['run_dir'] = run_dirs[name]
    parts = (flag.partition('=') for flag in good_flags.ALL[name][0].split())
    return {flag: value or values[flag] for flag, _, value in parts}
