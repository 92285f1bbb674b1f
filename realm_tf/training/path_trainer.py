"""Trains path retrieval: questions, a corpus with links -> model directory.

A path is a seed block, or a seed and a block that the seed links to.
Embed_input and the path scorer learn from all paths that end at an answer.

A batch has B questions, F seeds, and M links of each seed: wordpieces
'question_ids', int32 [B, Lq]; 'block_embeddings', float32 [B, F, 1 + M, D];
paths that end at an answer, 'has_answer', and paths that count, 'is_compared',
bool [B, F, 1 + M].
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
import itertools
from typing import cast

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.data import whole_blocks
from realm_tf.index import embedding
from realm_tf.index import storage
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.retrieval import linked_blocks
from realm_tf.training import answer_labels
from realm_tf.training import finetuning
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer

_QUESTION_WIDTH = 32  # Batches are trimmed to multiples of it.
# Seeds found by words: at first, embeddings find too few articles with links to
# the answer.
_NUM_BY_WORDS = 4


def batches(
  labels: answer_labels.AnswerLabels,
  embed: Callable[[np.ndarray], np.ndarray],
  searcher: interfaces.Searcher,
  *,
  words: interfaces.Retriever,
  paths: linked_blocks.Paths,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches.

  Args:
    embed: Embeds wordpieces with the current parameters.
    searcher: Finds seeds by their embeddings.
    words: Finds further seeds; searches once for each question.
  """
  words = labels.questions.search_once(words, _NUM_BY_WORDS)
  config = experiment.path
  sampler = sampling.Sampler(
    len(labels.questions.ids), config.batch_size, experiment.seed
  )
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(labels.questions.ids[rows], _QUESTION_WIDTH)
    queries = embed(question_ids)
    by_words = words.retrieve(labels.questions.queries(rows), _NUM_BY_WORDS)
    found = searcher.search(
      queries, linked_blocks.NUM_PATH_SEEDS - _NUM_BY_WORDS
    )
    # -1 replaces a block that both searches found.
    others, seeds = by_words.block_ids, found.block_ids
    is_double = (seeds[:, :, None] == others[:, None]).any(axis=-1)
    seeds = np.concatenate([others, np.where(is_double, -1, seeds)], axis=1)
    blocks, vectors = paths(queries, seeds)  # [B, F, 1 + M], [..., D]
    has_answer, is_compared = labels.compare(rows, blocks)
    yield dict(
      question_ids=question_ids,
      block_embeddings=vectors,
      has_answer=has_answer,
      is_compared=is_compared,
    )


class PathTrainer(step_trainer.StepTrainer):
  """Maximizes log p(y|x), the log of the sum of p(path|x) over paths to y.

  Training needs no labeled paths: every path to a block with the answer counts.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    special_ids: tuple[int, int],
  ):
    variables = model.query_variables(model.path_scorer)
    super().__init__(optimizer, model, variables)
    self._special_ids = special_ids

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=True,
    )  # [B, D]
    paths = self.model.path_scorer(
      queries, batch['block_embeddings'], batch['is_compared']
    )  # [B, F, 1 + M]
    flat = tf.reshape(paths, [tf.shape(paths)[0], -1])
    is_right = tf.reshape(batch['has_answer'], tf.shape(flat))
    likelihood = objectives.positive_log_likelihood(flat, is_right)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    found = tf.gather(is_right, best, batch_dims=1)
    has_any = tf.reduce_any(is_right, axis=-1)
    return -tf.reduce_mean(likelihood), {
      'path_log_likelihood': likelihood,
      'best_path_has_answer': 100.0 * tf.cast(found, tf.float32),
      'a_path_has_answer': 100.0 * tf.cast(has_any, tf.float32),
    }


def run(
  inputs: job_lib.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  linked: linked_blocks.LinkedBlocks,
  words: interfaces.Retriever,
) -> None:
  """Trains Embed_input and the path scorer; publishes them, with an index.

  Args:
    job: Its `init_from` gives embedders, and a reader to publish unchanged.
    linked: Finds the blocks that a block links to.
    words: Finds further seeds of training, by words.
  """
  gold = dataclasses.replace(inputs.config.finetuning, supervision='gold')
  towers = realm_model.separate_towers(inputs.config.model)
  inputs = inputs.changed(model=towers, finetuning=gold)
  config, special_ids = inputs.config, inputs.tokenizer.special_ids
  whole_blocks.check(inputs.table, config.lengths)
  job.share(config.path.batch_size)  # Checked before the run begins.
  labels = answer_labels.of_questions(questions, inputs, config.finetuning)
  parts = [realm_model.EMBEDDER, realm_model.PATH]
  data, keep = {'questions': questions}, realm_model.READER_PREFIXES
  model = job.create_model(inputs, parts, data, keep=keep)
  index = cast(storage.Index, finetuning.build_index(inputs, model, job))
  run_loop = loop.Loop(
    job,
    config.path,
    config.seed,
    lambda optimizer: PathTrainer(optimizer, model, special_ids),
  )
  embed = embedding.compile_queries(
    model, config.lengths.query_tokens, special_ids
  )
  # No prefetch: the search for seeds needs the current parameters.
  run_loop.run(
    batches(
      labels,
      embed,
      index.searcher,
      words=words,
      paths=functools.partial(
        linked_blocks.find_paths, linked, index.embeddings
      ),
      experiment=config,
      share=run_loop.share,
    )
  )
