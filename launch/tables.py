r"""Small versions of the paper's Tables 1 and 2: the gain of each part.

  python -m launch.tables MODEL SQUAD_OPEN RUN_DIR [--rows=realm,ict] \
      [--tuned=realm] [--keep_head] [--articles=FILE]

MODEL is a Hugging Face BERT directory; SQUAD_OPEN holds {train,val}_{corpus,
qa}.jsonl.gz, as for launch/open_squad.py. Z is all paragraphs. X is their
sentences; in row realm_other_text, the sentences of --articles. No row sees a
question before fine-tuning. --rows makes only these rows; all are compared with
the first. --tuned fine-tunes only these; `--tuned=` none. --keep_head keeps
MODEL's pooling: after few layers [CLS] is nearly the same for all texts. --set
changes no setting that defines a row or its reader.
"""

import os
from typing import Any

from . import common
from . import runner
from . import variants

from realm_tf import config
from realm_tf.config import config_files

# The sizes of the encoders are the imported model's (--model_of).
CONFIG = config.ExperimentConfig(
  # The T5 of launch/table1.py has MiniLM's width and number of layers.
  model=config.ModelConfig(
    seq2seq=config.Seq2SeqConfig(
      hidden_size=384,
      head_size=32,
      num_layers=3,
      num_heads=12,
      intermediate_size=1536,
    )
  ),
  lengths=config.LengthConfig(
    query_tokens=64,
    block_tokens=100,
    joint_tokens=162,
    question_tokens=40,
    title_tokens=16,
    max_masked=6,
  ),
  held_out=config.HeldOutConfig(share=0.05),
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(2e-4, 300, warmup_steps=30),
    batch_size=64,
    checkpoint_every_steps=50,
  ),
  pretraining=config.PretrainingConfig(
    optimizer=config.OptimizerConfig(
      1e-4, 300, warmup_steps=30, embedder_rate_scale=0.5
    ),
    batch_size=16,
    num_candidates=6,
    oversampling=4,
    refresh_every_steps=75,
    checkpoint_every_steps=75,
    log_every_steps=25,
  ),
  finetuning=config.FinetuningConfig(
    optimizer=config.OptimizerConfig(
      2e-4, 800, warmup_steps=80, embedder_rate_scale=0.25
    ),
    batch_size=16,
    bucket_batches=16,
    num_searched=100,
    num_read=2,
    joint_tokens=146,
    checkpoint_every_steps=100,
    log_every_steps=25,
  ),
  path=config.PathConfig(
    optimizer=config.OptimizerConfig(1e-4, 1000, warmup_steps=50)
  ),
  closed_book=config.ClosedBookConfig(
    optimizer=config.OptimizerConfig(1e-3, 1500, warmup_steps=150),
    batch_size=64,
    input_tokens=64,
  ),
)


# Embedders -> their changes of the config. ICT starts from the encoder, REALM
# from ICT.
_EMBEDDERS = {
  'realm': [],
  'ict': [],
  'ict_longer': ['inverse_cloze.optimizer.num_steps=900'],
  'realm_random_spans': ['pretraining.masking=random_span'],
  'realm_random_tokens': ['pretraining.masking=random_token'],
  'realm_stale': ['pretraining.refresh_every_steps=2250'],
  'realm_hybrid': ['pretraining.candidates=hybrid'],
  'realm_best': [  # All options that help.
    'pretraining.candidates=hybrid',
    'pretraining.inverse_cloze_weight=1',
    'inverse_cloze.query_drop_rate=0.6',
  ],
  'realm_of_encoder': [],  # From the encoder.
  'realm_other_text': [],  # On the sentences of --articles.
}
# Row -> its embedders, the reader that fine-tuning starts from, and retriever.
# Masked words make a reader forget how to read, the more, the higher the
# learning rate, so the reader of questions starts from the encoder itself.
_ROWS = {name: (name, 'start', 'model') for name in _EMBEDDERS} | {
  'realm': ('realm', 'realm', 'model'),
  'realm_retriever': ('realm', 'start', 'model'),
  'realm_reader': ('ict', 'realm', 'model'),
  'bm25': ('ict', 'start', 'bm25'),
  'encoder': ('start', 'start', 'model'),
}
# These start from a trained retriever and keep its head. The others get a new
# projection of [CLS].
_OLD_HEAD = ('realm_of_encoder', 'qa_encoder', 'qa_realm_of_encoder')
_NEW_HEAD = [
  'model.embedder.head=cls',
  'model.embedder.embedding_size=128',
  'model.embedder.normalize=false',
  'model.embedder.score_scale=1',
]


class _Tables:
  """Adds the stages of rows; an equal stage of several rows is one.

  Args:
    files: Inputs by name; 'articles' is the text of row realm_other_text.
    head: --set of a new head.
  """

  def __init__(
    self, recipe: runner.Recipe, files: dict[str, runner.Input], head: list[str]
  ):
    self._recipe, self._files, self._head = recipe, files, head
    self._config = recipe.config(CONFIG)
    self._texts = [files['train_corpus'], files['val_corpus']]
    self._start = recipe.stage(
      'start',
      'import_checkpoint',
      source=files['model'],
      output_dir=runner.OUTPUT,
    )
    self._corpus = recipe.stage(
      'corpus',
      'make_blocks',
      input=self._texts,
      vocab_file=self._start / 'vocab.txt',
      max_block_wordpieces=100,
      links='titles',
      output_dir=runner.OUTPUT,
    )
    self._given: dict[str, Any] = {
      'corpus_dir': self._corpus,
      'recall_at': '1,5,20',
      'questions': files['val_qa'],
    }

  def embedders(self, name: str) -> runner.Output:
    """Adds pre-training, and of all that it starts from."""
    if name == 'start':
      return self._start
    changed = config_files.override(self._config, _EMBEDDERS[name])
    if name.startswith('ict'):
      return self._train(name, 'warm_start', changed, init_from=self._start)
    warm_up = variants.reader_warm_up(
      self._config, learning_rate=1.5e-4, num_steps=700, batch_size=32
    )
    reader = self._train(
      'reader',
      'pretrain',
      warm_up,
      init_from=self._start,
      queries_dir=self._queries(),
    )
    refresher = {'run_dir': runner.OUTPUT, 'corpus_dir': self._corpus}
    return self._train(
      name,
      'pretrain',
      changed,
      companion=('refresh_index', refresher),
      init_from=self.embedders('start' if name in _OLD_HEAD else 'ict'),
      reader_init_from=reader,
      queries_dir=self._queries(name),
    )

  def evaluate_before(self, row: str) -> runner.Output:
    """Adds a row's evaluation before any question."""
    embedders, _, retriever = _ROWS[row]
    model = self.embedders(embedders)
    # REALM has the refresher's.
    if retriever == 'model' and not embedders.startswith('realm'):
      common.index(self._recipe, model / 'index', model, self._corpus)
    return common.evaluate(
      self._recipe,
      f'{row}_before',
      model_dir=model,
      retriever=retriever,
      queries_dir=self._queries(),
      held_out_share=self._config.held_out.share,
      **self._given,
    )

  def evaluate_tuned(self, row: str) -> runner.Output:
    """Adds a row's training on questions, and its evaluation."""
    embedders, reader, retriever = _ROWS[row]
    model = self._train(
      f'qa_{row}',
      'finetune',
      self._config,
      retriever=retriever,
      init_from=self.embedders(embedders),
      reader_init_from=self.embedders(reader),
      questions=self._files['train_qa'],
    )
    return common.evaluate(
      self._recipe,
      row,
      model_dir=model,
      retriever=retriever,
      num_read=5,
      **self._given,
    )

  def _train(
    self, name: str, binary: str, changed: config.ExperimentConfig, **flags: Any
  ) -> runner.Output:
    head = [] if name in _OLD_HEAD else self._head
    return self._recipe.stage(
      name,
      binary,
      changed,
      model_of=self._start,
      set=variants.NO_DROPOUT + head,
      corpus_dir=self._corpus,
      run_dir=runner.OUTPUT,
      cost=500,
      **flags,
    )

  def _queries(self, name: str = '') -> runner.Output:
    """Adds the sentences that the embedders `name` learn from."""
    is_other = name == 'realm_other_text'
    return self._recipe.stage(
      'other_queries' if is_other else 'queries',
      'make_queries',
      input=self._files['articles'] if is_other else self._texts,
      tagger='rules',
      corpus_dir=self._corpus,
      output_dir=runner.OUTPUT,
    )


def stages(
  recipe: runner.Recipe,
  model: str,
  squad_open: str,
  *,
  rows: str = 'all',
  tuned: str = 'all',
  keep_head: bool = False,
  articles: str = '',
) -> None:
  """Adds the stages of --rows, a table of each kind of evaluation, a page."""
  known = [row for row in _ROWS if articles or row != 'realm_other_text']
  chosen = common.names_of('rows', rows, known)
  to_tune = common.names_of('tuned', tuned, chosen)
  files = common.squad_files(squad_open) | {
    'model': runner.Input(f'hf:{model}'),
    'articles': runner.Input(articles),
  }
  tables = _Tables(recipe, files, [] if keep_head else _NEW_HEAD)
  for row in chosen:  # First, because they need not wait for ICT's index.
    tables.embedders(_ROWS[row][0])
  before = [tables.evaluate_before(row) for row in chosen]
  after = [tables.evaluate_tuned(row) for row in to_tune]
  results = common.results(
    recipe, 'results.json', [before, after], questions=files['val_qa']
  )
  if to_tune:
    recipe.stage(
      'tables.html',
      'report',
      run_dir=[os.path.join(recipe.run_dir, f'qa_{row}') for row in to_tune],
      results=results,
      output=runner.OUTPUT,
    )


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
