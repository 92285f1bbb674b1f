r"""QA fine-tuning with a beam of 5,000 blocks: questions per second.

  python -m benchmarks.early_update [--quick]

Random blocks of 288 wordpieces; some hold the answer. 2x128 reader of 5 blocks
at 320 wordpieces, 2x128 towers, the paper's vocabulary size, exact search, 2
threads. Rows run alternately, one step each. Medians; `share` is the part of
the time that "no beam" saves.

  beam        the early-update loss over 5,000 blocks
  seen        the same with cached labels: the questions repeat
  no beam     no early-update loss: only the blocks that are read
  tokenizing  5,000 blocks tokenized for each question, like the release
"""

import dataclasses
import os
import tempfile
import time

from absl import app
from absl import flags
import numpy as np
import tensorflow as tf

from benchmarks import printing
from benchmarks import sizes
from realm_tf import config as config_lib
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import brute_force
from realm_tf.modeling import realm_model
from realm_tf.records import answer_spans
from realm_tf.records import block_table
from realm_tf.records import corpus_files
from realm_tf.records import encoded_blocks
from realm_tf.retrieval import retrieval_layer
from realm_tf.text import wordpiece
from realm_tf.training import answer_labels
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training.finetuning import finetuning_batches
from realm_tf.training.finetuning import finetuning_trainer

_QUICK = flags.DEFINE_boolean('quick', False, 'A beam of 50, few steps.')
_BATCH_SIZE = flags.DEFINE_integer('batch_size', 4, 'Questions per step.')
_STEPS = flags.DEFINE_integer('steps', 6, 'Steps per row after a warm-up step.')

_BODY_WIDTH = 285


def _tokenizer() -> wordpiece.WordpieceTokenizer:
  specials = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
  words = [f'w{i}' for i in range(sizes.VOCAB_SIZE - len(specials))]
  return wordpiece.WordpieceTokenizer(specials + words)


def _corpus(directory, tokenizer, num_blocks):
  """Writes a corpus of random blocks and opens it."""
  rng = np.random.default_rng(0)
  words = np.array(tokenizer.vocabulary)

  def blocks():
    for i in range(num_blocks):
      ids = rng.integers(5, sizes.VOCAB_SIZE, _BODY_WIDTH, np.int32)
      text = ' '.join(words[ids])
      ends = np.array([_BODY_WIDTH], np.int32)
      yield blocks_lib.Block('w1', text, f'{i}', ids[:1], ids, ends)

  corpus_dir = os.path.join(directory, 'corpus')
  corpus_files.write(
    [encoded_blocks.encode(list(blocks()))],
    corpus_dir,
    tokenizer,
    source={},
    max_block_wordpieces=288,
  )
  return block_table.BlockTable.open(corpus_dir)


def _questions(table, number):
  """Yields questions of 12 words of a block; the answer is two of the words."""
  rng = np.random.default_rng(1)
  for block_id in rng.integers(0, table.num_blocks, number):
    words = table.texts([int(block_id)])[0].split()
    start = int(rng.integers(0, len(words) - 12))
    question = ' '.join(rng.permutation(words[start : start + 12]))
    yield questions_lib.Question(
      question, (' '.join(words[start : start + 2]),)
    )


class _Tokenizing(answer_labels.AnswerLabels):
  """Tokenizes every block of every question again."""

  def has_answer(self, row, block_ids):
    texts = self.table.texts(block_ids.tolist())
    bodies = np.stack(self._tokenizer.token_ids_batch(texts))
    return answer_spans.contain(bodies, self.questions.answers[row])


class _Bench:
  """The model and corpus of all rows."""

  def __init__(self, table, tokenizer):
    self._table, self._tokenizer = table, tokenizer
    self._special_ids = tokenizer.special_ids
    self._config = config_lib.ExperimentConfig(
      model=config_lib.ModelConfig(
        embedder_bert=sizes.bert(), reader_bert=sizes.bert()
      ),
      finetuning=config_lib.FinetuningConfig(
        batch_size=_BATCH_SIZE.value,
        num_searched=50 if _QUICK.value else 5000,
        supervision='answer',
        read_answer_block=False,
      ),
    )
    self._model = realm_model.RealmModel(
      self._config.model, [realm_model.EMBEDDER, realm_model.SPAN]
    )
    size = (table.num_blocks, self._config.model.embedder.embedding_size)
    self._embeddings = np.random.default_rng(2).normal(size=size)
    self._embeddings = self._embeddings.astype(np.float32)

  def steps(self, labels_class, num_questions, **changes):
    """Yields the seconds of each step."""
    finetuning = dataclasses.replace(self._config.finetuning, **changes)
    config = dataclasses.replace(self._config, finetuning=finetuning)
    tokenized = answer_labels.tokenize(
      list(_questions(self._table, num_questions)), self._tokenizer, 32
    )
    labels = labels_class(
      tokenized, self._table, self._tokenizer, config=finetuning
    )
    found = retrieval_layer.over_model(
      self._model,
      brute_force.BruteForceSearcher(self._embeddings),
      config.lengths.query_tokens,
      self._special_ids,
    )
    trainer = finetuning_trainer.FinetuningTrainer(
      optimizer_lib.create(finetuning.optimizer),
      self._model,
      config,
      special_ids=self._special_ids,
    )
    trainer.seed_dropout(0)
    trainer.train_dataset = finetuning_batches.batches(
      labels, found, self._embeddings, experiment=config
    )
    while True:
      begun = time.monotonic()
      trainer.train(tf.constant(1))
      yield time.monotonic() - begun


def _measure(bench: _Bench) -> dict[str, float]:
  """Returns each row's median seconds per step."""
  labels, num_steps = answer_labels.AnswerLabels, _STEPS.value
  many = _BATCH_SIZE.value * (num_steps + 2)
  rows = {
    'beam': bench.steps(labels, many),
    'seen': bench.steps(labels, _BATCH_SIZE.value),
    'no beam': bench.steps(labels, many, num_searched=5),
    'tokenizing': bench.steps(_Tokenizing, many),
  }
  secs = {name: [] for name in rows}
  for _ in range(num_steps + 1):
    for name, steps in rows.items():
      secs[name].append(next(steps))
  return {name: float(np.median(each[1:])) for name, each in secs.items()}


def main(_):
  tf.config.threading.set_intra_op_parallelism_threads(2)
  tokenizer = _tokenizer()
  with tempfile.TemporaryDirectory() as directory:
    table = _corpus(directory, tokenizer, 200 if _QUICK.value else 20_000)
    secs = _measure(_Bench(table, tokenizer))
  release = _BATCH_SIZE.value / secs['tokenizing']
  rows = (
    printing.row(
      name,
      _BATCH_SIZE.value / each,
      release,
      share=max(0.0, 1 - secs['no beam'] / each),
    )
    for name, each in secs.items()
  )
  printing.print_rows('early_update', 'questions a second', rows)


if __name__ == '__main__':
  app.run(main)
