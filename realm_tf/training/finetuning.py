"""Fine-tunes for QA: questions + a pre-trained model -> a QA model.

Embed_input and the reader learn (Section 3.3). A step reads blocks and rewards
answer spans. A batch holds B questions, their N searched blocks, and the K
blocks to read:

  question_ids: Wordpieces, int32 [B, Lq].
  block_embeddings: float32 [B, N, D], for trained scores; or else
  fixed_scores: float32 [B, N].
  has_answer: Positive blocks, bool [B, N].
  is_compared: Positives and negatives, bool [B, N]. Padding and blocks with an
    unknown label are neither, and stay out of the sums over blocks and spans.
  read_rows: Places of the K in the N, int32 [B, K].
  title_ids, body_ids: Wordpieces, int32 [B, K, Lt] and [B, K, Lz].
  is_answer: Whether the span of w + 1 wordpieces from s on is an answer, bool
    [B, K, Lz, W].
  is_impossible: bool [B]; only with `null_spans`.
"""

from collections.abc import Callable, Iterator, Sequence
import functools
import itertools
from typing import Any, cast

from absl import logging
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.data import whole_blocks
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import objectives
from realm_tf.model import path_scorer
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.retrieval import device_retriever
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.run import layout
from realm_tf.run import metrics_log
from realm_tf.run import versions
from realm_tf.training import answer_labels
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer

# Batches are trimmed to multiples of these: each shape is compiled.
_QUESTION_WIDTH, _BODY_WIDTH = 32, 64
_PARTS = realm_model.EMBEDDER, realm_model.SPAN
# (model, index, None for another search) -> exact match in percent.
ExactMatch = Callable[[realm_model.RealmModel, storage.Index | None], float]


def batches(
  labels: answer_labels.AnswerLabels,
  retriever: interfaces.Retriever,
  embeddings: np.ndarray | None,
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches.

  Args:
    embeddings: Embeddings of all blocks, float [., D]. None: the scores of
      `retriever` become `fixed_scores`.
  """
  config = experiment.finetuning
  questions = labels.questions
  number, seed = len(questions.ids), experiment.seed
  sampler = sampling.Sampler(number, config.batch_size, seed)
  if config.bucket_batches > 1:
    gold = map(labels.gold, range(number))
    lengths = [labels.table.lengths(ids)[1].max(initial=0) for ids in gold]
    sampler = sampling.BucketSampler(
      sampler, np.array(lengths), config.bucket_batches, seed
    )
  longest = int(labels.table.lengths()[1].max(initial=1))
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)[share.rows(config.batch_size)]
    question_ids = share.trim(questions.ids[rows], _QUESTION_WIDTH)
    found = retriever.retrieve(
      retriever_lib.of_texts(questions.texts(rows), question_ids),
      config.num_searched,
    )
    found = labels.with_gold(rows, found)
    batch = _labels(
      labels, rows, found.block_ids, experiment, share, longest=longest
    )
    batch['question_ids'] = question_ids
    if config.null_spans:
      impossible = [questions.given[row].is_impossible for row in rows]
      batch['is_impossible'] = np.array(impossible)
    if embeddings is None:
      fixed = np.where(found.block_ids >= 0, found.scores, 0)
      batch['fixed_scores'] = fixed.astype(np.float32)
    else:
      blocks = np.maximum(found.block_ids, 0)
      vectors = np.asarray(embeddings[blocks.ravel()], np.float32)
      batch['block_embeddings'] = vectors.reshape([*blocks.shape, -1])
    yield batch


def _labels(
  labels: answer_labels.AnswerLabels,
  rows: np.ndarray,
  block_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share,
  *,
  longest: int,
) -> dict[str, np.ndarray]:
  """Returns the fields of labels, and of the blocks to read.

  `longest` is the number of wordpieces of the corpus's longest block.
  """
  config, max_width = experiment.finetuning, experiment.model.max_span_width
  num_read = config.num_read
  has_answer, is_compared = labels.compare(rows, block_ids)
  read_rows = np.tile(np.arange(num_read, dtype=np.int32), [len(rows), 1])
  if config.read_answer_block or config.supervision == 'gold':
    for i, answer in enumerate(has_answer):
      if not answer[:num_read].any():
        # The first block with the answer, or no change without such a block.
        read_rows[i, -1] = np.argmax(answer) or num_read - 1
  read_ids = np.take_along_axis(block_ids, read_rows, axis=1)
  titles, bodies = labels.table.gather(
    read_ids, experiment.lengths.title_tokens, min(longest, config.joint_tokens)
  )
  bodies = share.trim(bodies, _BODY_WIDTH)  # [B, K, Lz]
  is_answer = np.stack(
    [
      labels.spans(row, read_ids[i], bodies[i], max_width=max_width)
      for i, row in enumerate(rows)
    ]
  )
  # A block that is no positive has no answers, even if it holds their text.
  teaches = np.take_along_axis(has_answer, read_rows, axis=1)
  return {
    'has_answer': has_answer,
    'is_compared': is_compared,
    'read_rows': read_rows,
    'title_ids': titles,
    'body_ids': bodies,
    'is_answer': is_answer & teaches[:, :, None, None],
  }


class FinetuningTrainer(step_trainer.StepTrainer):
  """Maximizes the answers' span likelihood plus the early-update likelihood.

  Section 3.2 of Guu et al. 2020 with ORQA's losses; a term without a positive
  is zero. `null_spans` adds null spans to the softmax over spans. Blocks
  have the index's embeddings. The model must have the EMBEDDER and SPAN parts.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: realm_model.RealmModel,
    config: config_lib.ExperimentConfig,
    *,
    special_ids: tuple[int, int],
  ):
    super().__init__(
      optimizer,
      model,
      model.span_reader.trainable_variables
      if config.finetuning.freeze_query_tower
      else model.query_variables(model.span_reader),
      jit_compile=config.finetuning.jit_compile and model.prefers_xla,
    )
    self._config = config.finetuning
    self._special_ids = special_ids

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    scores = self._retrieval_scores(batch)  # [B, N]
    is_hard = self._config.objective == 'hard_em'
    early = objectives.positive_log_likelihood(
      scores, batch['has_answer'], is_hard
    )
    body_length = batch['body_ids'].shape[2]
    joint = joining.pack_pairs(
      batch['question_ids'],
      batch['body_ids'],
      *self._special_ids,
      self._config.joint_tokens,
      batch['title_ids'] if self._config.read_titles else None,
    )
    spans, null = self.model.span_reader(joint, body_length, training=True)
    read_scores = tf.gather(scores, batch['read_rows'], batch_dims=1)
    each = tf.reshape(spans, [*tf.unstack(tf.shape(spans))[:2], -1])
    flat = tf.reshape(
      each + read_scores[:, :, None], [tf.shape(spans)[0], -1]
    )  # [B, S]
    is_answer = tf.reshape(batch['is_answer'], tf.shape(flat))
    answerable = tf.reduce_any(is_answer, axis=-1)
    if self._config.null_spans:
      flat, is_answer = objectives.with_null_spans(
        flat, null + read_scores, is_answer, batch['is_impossible']
      )
    if self._config.objective == 'per_block':
      reading = objectives.per_block_log_likelihood(
        each,
        null,
        tf.reshape(batch['is_answer'], tf.shape(each)),
        tf.gather(batch['is_compared'], batch['read_rows'], batch_dims=1),
      )
    else:
      reading = objectives.positive_log_likelihood(flat, is_answer, is_hard)
    best = tf.argmax(flat, axis=-1, output_type=tf.int32)
    correct = tf.gather(is_answer, best, batch_dims=1)
    return -tf.reduce_mean(early + reading), {
      'early_update_log_likelihood': early,
      'span_log_likelihood': reading,
      'exact_match': 100.0 * tf.cast(correct, tf.float32),
      'answer_in_read_blocks': 100.0 * tf.cast(answerable, tf.float32),
      'answer_in_searched_blocks': 100.0
      * tf.cast(tf.reduce_any(batch['has_answer'], axis=-1), tf.float32),
    }

  def _retrieval_scores(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """Returns f(x,z), float32 [B, N]; NO_SCORE without `is_compared`."""
    if 'fixed_scores' in batch:
      return tf.where(
        batch['is_compared'], batch['fixed_scores'], interfaces.NO_SCORE
      )
    queries = self.model.embed_queries(
      joining.pack_longest(batch['question_ids'], None, *self._special_ids),
      training=not self._config.freeze_query_tower,
    )  # [B, D]
    scores = tf.einsum('bd,bnd->bn', queries, batch['block_embeddings'])
    return tf.where(batch['is_compared'], scores, interfaces.NO_SCORE)


def run(
  inputs: job_lib.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  retriever: interfaces.Retriever | None = None,
  exact_match: ExactMatch | None = None,
) -> None:
  """Fine-tunes and publishes the QA model, with the index that it searches.

  Args:
    retriever: Replaces the model's own search and scores, e.g. by BM25. Then
      no index is made, unless `job.init_from` has one to reuse.
    exact_match: Measures the model on development questions. With it, the run
      publishes the best parameters; without it, the last.
  """
  towers = realm_model.separate_towers(inputs.config.model)
  inputs = inputs.changed(model=towers)
  config, own = inputs.config, inputs.config.finetuning
  job.share(own.batch_size)  # Checked before the run begins.
  whole_blocks.check(
    inputs.table, config.lengths, whole_blocks.of_finetuning(config)
  )
  labels = answer_labels.of_questions(questions, inputs, own)
  keep = (path_scorer.PREFIX,) if retriever else ()  # For a path retriever.
  judged = getattr(exact_match, 'questions', None)
  data = {'questions': (questions, judged), '--retriever': type(retriever)}
  model = job.create_model(inputs, _PARTS, data, keep=keep)
  index = build_index(inputs, model, job, is_searched=not retriever)
  run_loop = loop.Loop(
    job,
    own,
    config.seed,
    lambda optimizer: FinetuningTrainer(
      optimizer, model, config, special_ids=inputs.tokenizer.special_ids
    ),
  )
  dealt = batches(
    labels,
    *_search(labels, inputs, job, model, index, retriever),
    experiment=config,
    share=run_loop.share,
  )
  if retriever:  # What the step learns changes no search, and no batch.
    dealt = loop.prefetch(dealt)
  if exact_match:
    judge = functools.partial(exact_match, model, index)
    train_judged(run_loop, job, judge, own.judge_every_steps, dealt)
  else:
    run_loop.run(dealt)


def build_index(
  inputs: job_lib.Inputs,
  model: realm_model.RealmModel,
  job: job_lib.Job,
  is_searched: bool = True,
) -> storage.Index | None:
  """Returns the index of the first parameters, which serves the whole run.

  Embed_doc is frozen (Guu et al. 2020, Section 3.3). To be called before a
  checkpoint is read. Reuses embeddings of the index of `job.init_from`. An
  index that is not searched is only kept: without one to reuse, there is none.
  """
  init_from = job.init_from.model_dir
  base = init_from and model_files.open_model(init_from).newest_index
  if not base and not is_searched:
    return None
  builder = index_builder.IndexBuilder(
    inputs.table,
    inputs.config,
    inputs.tokenizer.special_ids,
    inputs.tokenizer.mask_id,
    model,
    job.strategy if strategies.num_workers(job.strategy) == 1 else None,
  )
  root = layout.index_root(job.run_dir)
  builder.build(0, root, base=base.path if base else None, fits=False)
  path = versions.version_path(root, 0)
  return storage.load(path, builder.corpus_fingerprint)


def _search(
  labels: answer_labels.AnswerLabels,
  inputs: job_lib.Inputs,
  job: job_lib.Job,
  model: realm_model.RealmModel,
  index: storage.Index | None,
  retriever: interfaces.Retriever | None,
) -> tuple[interfaces.Retriever, np.ndarray | None]:
  """Returns `retriever`, or the current query embedder's with embeddings."""
  config = inputs.config
  if retriever:
    number = config.finetuning.num_searched
    return labels.questions.search_once(retriever, number), None
  index = cast(storage.Index, index)
  on_devices = device_retriever.is_used(job.strategy)
  search = device_retriever.DeviceRetriever(
    job.strategy,
    config,
    inputs.tokenizer.special_ids,
    inputs.table.num_blocks if on_devices else 0,
    model,
  )
  search.load_blocks(index.embeddings, index.searcher)
  return search, index.embeddings


def train_judged(
  run_loop: loop.Loop,
  job: job_lib.Job,
  judge: Callable[[], float],
  every: int,
  batches: Iterator[dict[str, Any]],
) -> None:
  """Trains to the end; publishes parameters that `judge` scores highest.

  It is called every `every` steps, and after the last. A resumed run reads the
  earlier scores from their log.
  """
  log = layout.dev_metrics_file(job.run_dir)
  if job.is_chief:
    metrics_log.cut(log, run_loop.step)
  scores = {
    step: score
    for step, score in metrics_log.values(log, 'exact_match').items()
    if step <= run_loop.step
  }
  # A resumed run may lack the score of its checkpoint.
  steps = itertools.chain([run_loop.step], run_loop.periods(every, batches))
  for step in steps:
    is_due = step and (step % every == 0 or step == run_loop.num_steps)
    if is_due and step not in scores:
      # The log's number of digits: a resumed run compares the same scores.
      score = round(judge(), 6)
      logging.info('Exact match at step %d: %.2f.', step, score)
      if score > max(scores.values(), default=-1.0):
        run_loop.publish()
        if job.is_chief:
          versions.prune(layout.params_root(job.run_dir), 1)
      scores[step] = score
      if job.is_chief:
        metrics_log.append(log, step, {'exact_match': score})
    run_loop.save()
  run_loop.finish()
