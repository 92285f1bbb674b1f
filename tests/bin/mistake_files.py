"""Makes the files for the tests of users' mistakes."""

import os

from realm_tf.corpus import sources
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from realm_tf.training import runs
from tests import model_index
from tests import tiny


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
    inputs = runs.open_inputs(tiny.config(), self.corpus)
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
    corpus, out = {'corpus_dir': self.corpus}, {'output_dir': self.new}
    asked = {'model_dir': self.model, 'questions': self.questions}
    tagged = {'train': self.broken, 'vocab_file': self.vocabulary}
    return {
      'answer': {**corpus, 'model_dir': self.model, 'question': 'a'},
      'average_models': {
        **out,
        'model_dir': self.model,
        'before_dir': self.retriever_only,
      },
      'build_index': {**corpus, **out, 'model_dir': self.model},
      'evaluate': {**corpus, **out, **asked},
      'export': {**out, 'model_dir': self.model, 'format': 'hugging_face'},
      'finetune': {**corpus, 'questions': self.questions, 'run_dir': self.new},
      'import_checkpoint': {**out, 'source': f'hf:{self.model}'},
      'inspect_data': corpus,
      'make_blocks': {**out, 'input': self.broken},
      'make_queries': {**corpus, **out, 'input': self.broken},
      'make_world': out,
      'pretrain': {**corpus, 'queries_dir': self.queries, 'run_dir': self.new},
      'refresh_index': {**corpus, 'run_dir': self.model, 'once': 'true'},
      'report': {'run_dir': self.log['good'], 'output': self.new},
      'results_table': {
        'run_dir': self.other_run,
        'questions': self.questions,
        'rows': 'a',
      },
      'serve': {**corpus, 'model_dir': self.model, 'port': '0'},
      'survey': {**out, 'input': self.broken},
      'train_closed_book': {
        **corpus,
        'questions': self.questions,
        'run_dir': self.new,
      },
      'train_path': {
        **corpus,
        'questions': self.questions,
        'init_from': self.model,
        'run_dir': self.new,
      },
      'train_tagger': {**out, **tagged},
      'warm_start': {**corpus, 'run_dir': self.new},
    }[name]
