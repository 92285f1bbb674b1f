"""Trains a model that answers from its weights alone (Roberts et al. 2020).

Sentences or questions become inputs and outputs of an encoder-decoder.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import seq2seq
from realm_tf.model import strategies
from realm_tf.run import layout
from realm_tf.training import answer_labels
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer

_WIDTH = 8  # Batches are trimmed to multiples of it: each shape is compiled.


class Pairs(NamedTuple):
  """Inputs with their outputs; `number` of them."""

  number: int
  # (rows, random generator) -> wordpieces of the rows' inputs and outputs.
  get: Callable[
    [np.ndarray, np.random.Generator],
    tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
  ]


def of_queries(
  table: query_table.QueryTable,
  config: config_lib.ClosedBookConfig,
  mask_id: int,
) -> Pairs:
  """Returns sentences with one mask as inputs, and salient spans as outputs.

  Raffel et al. 2020, Section 3.1.4, with salient spans (Guu et al. 2020), as in
  Roberts et al. 2020.
  """
  kind = masking.Masking(
    'salient', config.input_tokens, config.answer_tokens - 1, mask_id
  )

  def get(
    rows: np.ndarray, rng: np.random.Generator
  ) -> tuple[list[np.ndarray], list[np.ndarray]]:
    batch = masking.mask_batch(table, rows, kind, rng)
    is_masked = batch['token_mask'] > 0
    inputs = [
      np.delete(ids, positions[own][1:])
      for ids, positions, own in zip(
        batch['query_ids'], batch['masked_positions'], is_masked
      )
    ]
    return inputs, [ids[own] for ids, own in zip(batch['gold_ids'], is_masked)]

  return Pairs(table.num_queries, get)


def of_questions(
  questions: Sequence[questions_lib.Question],
  tokenizer: answer_labels.Tokenizer,
  config: config_lib.ClosedBookConfig,
) -> Pairs:
  """Returns questions with their first answers; UserError without any.

  Questions with regular expressions are left out.
  """
  given = [q for q in questions if q.answers and not q.regex]
  if not given:
    raise errors.UserError(
      'Training needs questions with an answer. Found none in '
      f'{len(questions)} questions. Give others as --questions.'
    )
  found = answer_labels.tokenize(given, tokenizer, config.input_tokens)
  answers = [answers[0] for answers in found.answers]
  return Pairs(
    len(given), lambda rows, _: (found.ids[rows], [answers[i] for i in rows])
  )


def batches(
  pairs: Pairs,
  end_id: int,
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches, functions of seed and step; `end_id` ends rows.

  They have 'input_ids' and 'target_ids', int32 [B, L] each, zero-padded.
  """
  config = experiment.closed_book
  sampler = sampling.Sampler(pairs.number, config.batch_size, experiment.seed)
  for step in itertools.count(share.first_step):
    rng = sampling.step_rng(experiment.seed, step, 1)
    inputs, outputs = pairs.get(sampler.rows(step), rng)
    input_ids = sampling.end_rows(inputs, config.input_tokens, end_id)
    target_ids = sampling.end_rows(outputs, config.answer_tokens, end_id)
    input_ids = share.trim(input_ids, _WIDTH)
    yield share.take({'input_ids': input_ids, 'target_ids': target_ids})


class ClosedBookTrainer(step_trainer.StepTrainer):
  """Maximizes log p(y|x), the mean over the output's wordpieces."""

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
  ):
    super().__init__(optimizer, model, model.seq2seq.trainable_variables)

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    targets = batch['target_ids']  # [B, Ly]
    logits = self.model.seq2seq.logits(batch['input_ids'], targets)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    counts = tf.cast(targets != seq2seq.PAD_ID, tf.float32)
    best = tf.argmax(logits, axis=-1, output_type=tf.int32)
    is_right = (best == targets) | (counts == 0)
    right = tf.cast(tf.reduce_all(is_right, axis=-1), tf.float32)
    loss = strategies.weighted_mean(losses * counts, counts)
    return loss, {'answers_right': 100.0 * right}


def run(
  inputs: job_lib.Inputs,
  examples: query_table.QueryTable | Sequence[questions_lib.Question],
  job: job_lib.Job,
) -> None:
  """Trains on salient spans, or on questions, and publishes the parameters.

  An imported T5 as `job.init_from` brings its sizes and its sentencepieces.
  Other models have the corpus's vocabulary.

  Raises:
    UserError: Queries have another vocabulary or come with an imported T5, or
      no question has its answer in the corpus.
  """
  init_from = job.init_from.model_dir or ''
  pieces = layout.sentencepiece_file(init_from)
  is_t5 = bool(init_from) and tf.io.gfile.exists(pieces)
  tokenizer: answer_labels.Tokenizer = inputs.tokenizer
  if is_t5:
    opened = model_files.open_model(init_from)
    tokenizer = opened.tokenizer
    sizes = opened.config.model.seq2seq
    inputs = inputs.changed(
      model=dataclasses.replace(inputs.config.model, seq2seq=sizes)
    )
  config = inputs.config
  job.share(config.closed_book.batch_size)  # Checked before the run begins.
  pairs = _pairs(inputs, examples, tokenizer)
  data = {'examples': getattr(examples, 'manifest', examples)}
  model = job.create_model(inputs, [realm_model.SEQ2SEQ], data)
  if is_t5 and job.is_chief:
    copy = layout.sentencepiece_file(job.run_dir)
    tf.io.gfile.copy(pieces, copy, overwrite=True)
  run_loop = loop.Loop(
    job,
    config.closed_book,
    config.seed,
    lambda optimizer: ClosedBookTrainer(optimizer, model),
  )
  _, end_id = tokenizer.special_ids
  dealt = batches(pairs, end_id, experiment=config, share=run_loop.share)
  run_loop.run(loop.prefetch(dealt))


def _pairs(
  inputs: job_lib.Inputs,
  examples: query_table.QueryTable | Sequence[questions_lib.Question],
  tokenizer: answer_labels.Tokenizer,
) -> Pairs:
  """Returns inputs with their outputs; checks that they fit the corpus."""
  config = inputs.config.closed_book
  if not isinstance(examples, query_table.QueryTable):
    length = inputs.config.lengths.block_tokens
    tokenized = answer_labels.tokenize(examples, inputs.tokenizer, 1)
    answer_labels.check(tokenized, inputs.table, length=length)
    return of_questions(examples, tokenizer, config)
  if tokenizer is not inputs.tokenizer:
    raise errors.UserError(
      "A model for --queries_dir must have the corpus's wordpieces. Found a T5 "
      'with others as --init_from. Give --questions instead.'
    )
  examples.fit_corpus(inputs.table)
  return of_queries(examples, config, inputs.tokenizer.mask_id)
