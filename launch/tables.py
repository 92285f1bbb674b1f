r"""A small version of the paper's Table 2: the gain of each part.

  python -m launch.tables MODEL SQUAD_OPEN RUN_DIR [--rows=realm,ict] \
      [--keep_head] [--articles=FILE]

Time: a row of REALM 7 + 11 minutes on one core of an EPYC, a row of ICT 7
(MiniLM's first three layers, 10,572 blocks, 120 steps of REALM).
Recall@5 of 4,794 SQuAD questions: ICT 66.7, REALM 69.1, realm_best 70.7, BM25
87.9 (docs/results/real_text.md).

MODEL is a Hugging Face BERT directory; SQUAD_OPEN holds {train,val}_{corpus,
qa}.jsonl.gz: paragraphs as articles (title, text, id), and questions (question,
answers, gold_id). Z is all paragraphs. X is their sentences; in row
realm_other_text, the sentences of --articles. No row sees a question:
launch/table1.py fine-tunes them. --rows makes only these rows; all are compared
with the first. --keep_head keeps MODEL's pooling: after few layers [CLS] is
nearly the same for all texts. --set changes no setting that defines a row or
its reader.
"""

from collections.abc import Sequence
from typing import Any

from . import common
from . import runner

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
  'realm_best': [  # All options that help.
    'pretraining.candidates=hybrid',
    'pretraining.inverse_cloze_weight=1',
    'inverse_cloze.query_drop_rate=0.6',
  ],
  'realm_of_encoder': [],  # From the encoder.
  'realm_other_text': [],  # On the sentences of --articles.
}
# Row -> its embedders, and retriever.
_ROWS = {name: (name, 'model') for name in _EMBEDDERS} | {
  'bm25': ('ict', 'bm25'),
  'encoder': ('start', 'model'),
}
# --set of a new projection of [CLS].
_NEW_HEAD = [
  'model.embedder.head=cls',
  'model.embedder.embedding_size=128',
  'model.embedder.normalize=false',
  'model.embedder.score_scale=1',
]


class Tables(common.Jobs):
  """Adds the stages of rows; an equal stage of several rows is one.

  Args:
    model: A Hugging Face BERT directory.
    texts: Articles, --input of bin.make_blocks.
    questions: Measure.
    articles: Text of row realm_other_text.
    head: --set of embedders that are not yet trained.
    judging: More flags of bin.evaluate.
  """

  def __init__(
    self,
    recipe: runner.Recipe,
    model: str,
    texts: Sequence[str],
    questions: Sequence[str],
    *,
    config: config.ExperimentConfig,
    articles: str = '',
    head: Sequence[str] = (),
    **judging: Any,
  ):
    self.recipe, self._texts = recipe, list(texts)
    self.config = recipe.config(config)
    self._articles, self._head = articles, list(head)
    self.start = self.imported('start', model)
    corpus = recipe.stage(
      'corpus',
      'make_blocks',
      input=self._texts,
      vocab_file=self.start / 'vocab.txt',
      max_block_wordpieces=self.config.lengths.block_tokens,
      output_dir=runner.OUTPUT,
      links='titles',
    )
    super().__init__(
      recipe,
      corpus,
      learning={'model_of': self.start, 'cost': 500},
      measuring={
        'questions': list(questions),
        'recall_at': '1,5,20',
        **judging,
      },
    )

  def imported(self, name: str, model: str) -> runner.Output:
    """Adds the model directory of a Hugging Face BERT."""
    source = runner.Input(f'hf:{model}')
    if isinstance(model, runner.Output):
      source = runner.Output(f'hf:{model}', model.stage)
    return self.recipe.stage(
      name, 'import_checkpoint', source=source, output_dir=runner.OUTPUT
    )

  def _queries(self) -> runner.Output:
    return self.queries('queries', input=self._texts, tagger='rules')

  def embedders(self, name: str) -> runner.Output:
    """Adds pre-training, and all that it starts from."""
    start = self.start
    if name == 'start':
      return start
    config = config_files.override(self.config, _EMBEDDERS[name])
    if name.startswith('ict'):
      return self.train(name, 'warm_start', config, init_from=start)
    warm_up = common.reader_warm_up(
      self.config, learning_rate=1.5e-4, num_steps=700, batch_size=32
    )
    queries = self._queries()
    reader = self.train(
      'reader', 'pretrain', warm_up, init_from=start, queries_dir=queries
    )
    if name == 'realm_other_text':
      articles = [runner.Input(self._articles)]
      queries = self.queries('other_queries', input=articles, tagger='rules')
    refresher = {'run_dir': runner.OUTPUT, 'corpus_dir': self.corpus}
    if 'encoder' not in name:
      start = self.embedders('ict')
      refresher['base'] = self.index('index_ict', start)
    return self.train(
      name,
      'pretrain',
      config,
      companion=('refresh_index', refresher),
      init_from=start,
      reader_init_from=reader,
      queries_dir=queries,
    )

  def evaluate_row(self, row: str, **judging: Any) -> runner.Output:
    """Adds a row's evaluation."""
    name, retriever = _ROWS[row]
    model = self.embedders(name)
    # REALM has the refresher's index.
    if retriever == 'model' and not name.startswith('realm'):
      self.index(f'index_{name}', model)
    sentences: dict[str, Any] = {}
    if self.config.held_out.share:
      sentences['queries_dir'] = self._queries()
      sentences['held_out_share'] = self.config.held_out.share
    return self.evaluate(
      f'{row}_before',
      model_dir=model,
      retriever=retriever,
      **sentences,
      **judging,
    )

  def train(self, name: str, *arguments: Any, **flags: Any) -> runner.Output:
    """Adds a training job."""
    # Trained embedders, the encoder's, keep their head.
    head = [] if 'encoder' in name else self._head
    changes = common.NO_DROPOUT + head
    return super().train(name, *arguments, set=changes, **flags)


def stages(
  recipe: runner.Recipe,
  model: str,
  squad_open: str,
  *,
  rows: str = 'all',
  keep_head: bool = False,
  articles: str = '',
) -> None:
  """Adds the stages of --rows, and their table."""
  known = [row for row in _ROWS if articles or row != 'realm_other_text']
  chosen = common.rows(rows, known)
  texts = [
    runner.Input(f'{squad_open}/{part}_corpus.jsonl.gz')
    for part in ('train', 'val')
  ]
  val_qa = runner.Input(f'{squad_open}/val_qa.jsonl.gz')
  tables = Tables(
    recipe,
    model,
    texts,
    [val_qa],
    config=CONFIG,
    articles=articles,
    head=[] if keep_head else _NEW_HEAD,
  )
  for row in chosen:  # First, because they need not wait for ICT's index.
    tables.embedders(_ROWS[row][0])
  evaluations = [tables.evaluate_row(row) for row in chosen]
  common.results(recipe, 'results.json', evaluations, questions=val_qa)


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
