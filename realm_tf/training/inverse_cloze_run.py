"""Runs the warm start: corpus -> model directory with embedders.

ICT takes sentences out of the blocks around them. Questions with answers are
paired with a block that has the answer, as in dense passage retrieval,
Karpukhin et al. 2020 (https://arxiv.org/abs/2004.04906). The negatives are the
batch's other blocks, some of the same title.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
import itertools
import math

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.data import cloze_sentences
from realm_tf.data import held_out
from realm_tf.data import sampling
from realm_tf.data import whole_blocks
from realm_tf.model import realm_model
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.training import answer_labels
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import job as job_lib
from realm_tf.training import loop

# Batches are trimmed to multiples of these: each shape is compiled.
_SENTENCE_WIDTH, _REST_WIDTH = 8, 16  # Of ICT.
_QUESTION_WIDTH, _BODY_WIDTH = 16, 64
_CHUNK = 1000  # Questions of one search.


def run(
  inputs: job_lib.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  words: interfaces.Retriever | None = None,
) -> None:
  """Trains and publishes both embedders, with the reader of `job.init_from`.

  Args:
    questions: Training questions; none for ICT.
    words: Finds blocks for questions without `gold_id`.

  Raises:
    UserError: A replica's part of the batch cannot be divided into chunks, or
      no block answers a question.
  """
  config, own = inputs.config, inputs.config.inverse_cloze
  job.share(own.batch_size)  # Checked before the run begins.
  count = job.strategy.num_replicas_in_sync
  part, size = own.batch_size // count, own.chunk_size
  if size and part % size:
    raise errors.UserError(
      "A replica's part of the batch must be whole chunks. Found "
      f'{part} examples on each of {count} replicas, and '
      f'objectives.chunk_size={size}. Set it to a divisor of {part}.'
    )
  whole_blocks.check(inputs.table, config.lengths)
  batches_of = _batches_of(inputs, questions, words)
  model = job.create_model(
    inputs,
    [realm_model.EMBEDDER],
    {'questions': questions},
    keep=realm_model.READER_PREFIXES,
  )
  run_loop = loop.Loop(
    job,
    own,
    config.seed,
    lambda optimizer: inverse_cloze_trainer.InverseClozeTrainer(
      optimizer,
      model,
      own,
      lengths=config.lengths,
      special_ids=inputs.tokenizer.special_ids,
    ),
  )
  run_loop.run(loop.prefetch(batches_of(share=run_loop.share)))


def _batches_of(
  inputs: job_lib.Inputs,
  questions: Sequence[questions_lib.Question],
  words: interfaces.Retriever | None,
) -> Callable[..., Iterator[dict[str, np.ndarray]]]:
  """Returns a maker of batches, from sentences or from questions."""
  config = inputs.config
  if not questions:
    return functools.partial(
      sentence_batches, inputs.table, inputs.ordinary_ids, config
    )
  # Labels for the retriever: answers count in the embedded wordpieces only.
  finetuning = dataclasses.replace(
    config.finetuning,
    supervision='gold',
    joint_tokens=config.lengths.block_tokens,
  )
  labels = answer_labels.of_questions(questions, inputs, finetuning)
  rows, block_ids = find_pairs(labels, words)
  logging.info(
    '%d of %d questions have a block that answers them.',
    len(rows),
    len(questions),
  )
  return functools.partial(question_batches, rows, block_ids, labels, config)


def sentence_batches(
  table: block_table.BlockTable,
  ordinary_ids: np.ndarray,
  experiment: config_lib.ExperimentConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches, functions of seed and step.

  Section 4 of Lee et al. 2019: the query is a random sentence of a block. 90 %
  of the queries are cut out of their block, so that the model must match
  meaning; the others teach that equal words matter. A block's only sentence
  stays. Sentences come from the embedded part of a block that is not held out.
  """
  config = experiment.inverse_cloze
  rows = held_out.others(held_out.blocks(table, experiment.held_out.share))
  sampler = sampling.Sampler(len(rows), config.batch_size, experiment.seed)
  own = share.rows(config.batch_size)
  for step in itertools.count(share.first_step):
    rng = sampling.step_rng(experiment.seed, step)
    # The choice of the sentence, and whether it is cut out.
    draws = rng.random([config.batch_size, 2])[own]
    titles, bodies, queries = cloze_sentences.take(
      table, rows[sampler.rows(step)[own]], draws, config, experiment.lengths
    )
    queries = cloze_sentences.change(
      queries, ordinary_ids, config, rng, own=own, size=config.batch_size
    )
    yield dict(
      query_ids=share.trim(queries, _SENTENCE_WIDTH),
      title_ids=titles,
      body_ids=share.trim(bodies, _REST_WIDTH),
    )


def find_pairs(
  labels: answer_labels.AnswerLabels,
  retriever: interfaces.Retriever | None = None,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns numbers of P questions and their blocks' ids, int64 [P] each.

  A question gets its first `gold` block, else the first block with an answer
  that `retriever` finds. UserError if no question has a block.
  """
  number = len(labels.questions.given)
  block_ids = np.array(
    [next(iter(labels.gold(row)), -1) for row in range(number)], np.int64
  )
  retriever = retriever or retriever_lib.Nothing()
  others = np.flatnonzero(block_ids < 0)
  for start in range(0, len(others), _CHUNK):
    chunk = others[start : start + _CHUNK]
    found = retriever.retrieve(
      labels.questions.queries(chunk), config_lib.NUM_COMPARED
    )
    for row, ids in zip(chunk, found.block_ids, strict=True):
      block_ids[row] = next(iter(ids[labels.label(row, ids)[0]]), -1)
  rows = np.flatnonzero(block_ids >= 0)
  if not rows.size:
    raise errors.UserError(
      'Training needs questions with a block that has the answer. Found none '
      f'for {number} questions in {labels.table.num_blocks} blocks. Give '
      'questions on this corpus.'
    )
  return rows, block_ids[rows]


def question_batches(
  rows: np.ndarray,
  block_ids: np.ndarray,
  labels: answer_labels.AnswerLabels,
  experiment: config_lib.ExperimentConfig,
  *,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches of `find_pairs`, functions of seed and step.

  A block that holds an answer of a question is no negative of it.
  """
  config, lengths = experiment.inverse_cloze, experiment.lengths
  deal = by_title(
    block_ids,
    labels.table.titles(block_ids),
    labels.table.lengths(block_ids)[1],
    config=config,
    seed=experiment.seed,
  )
  own = share.rows(config.batch_size)
  for step in itertools.count(share.first_step):
    dealt = deal(step)
    asked, blocks = rows[dealt[own]], block_ids[dealt]
    is_own = np.eye(len(blocks), dtype=bool)[own]
    is_copy = blocks[own, None] == blocks
    titles, bodies = labels.table.gather(
      blocks[own], lengths.title_tokens, lengths.block_tokens
    )
    yield dict(
      query_ids=share.trim(labels.questions.ids[asked], _QUESTION_WIDTH),
      title_ids=titles,
      body_ids=share.trim(bodies, _BODY_WIDTH),
      is_compared=is_own | ~(is_copy | labels.hold_text(asked, blocks)),
    )


def by_title(
  block_ids: np.ndarray,
  titles: Sequence[str],
  lengths: np.ndarray,
  *,
  config: config_lib.InverseClozeConfig,
  seed: int,
) -> Callable[[int], np.ndarray]:
  """Returns a function from a step to the numbers of its examples, [B].

  `questions_of_title` examples of one title come together, as hard negatives:
  the subject alone distinguishes blocks of different articles, and blocks of
  one title teach the retriever to use the rest of the text. Each title's
  examples are sorted by round (the first example of each block, then the
  second), then by length, and cut into groups. The rest forms groups of
  several titles; the last group may repeat examples.

  Args:
    block_ids: Block of each of P examples.
    titles: Titles of the P blocks.
    lengths: Lengths of the P blocks, int [P].
  """
  size = math.gcd(config.questions_of_title, config.batch_size)
  order = np.random.default_rng(seed).permutation(len(block_ids))
  turns = _turns(block_ids[order])
  _, subjects = np.unique(np.asarray(titles)[order], return_inverse=True)
  order = order[np.lexsort([lengths[order], turns, subjects])]
  subjects = np.sort(subjects)
  counts = np.bincount(subjects)[subjects]
  is_whole = _turns(subjects) < counts - counts % size
  whole, rest = order[is_whole], order[~is_whole]
  rest = np.resize(rest, [-(-len(rest) // size) * size])
  groups = np.concatenate([whole, rest]).reshape([-1, size])
  dealt = sampling.BucketSampler(
    sampling.Sampler(len(groups), config.batch_size // size, seed),
    lengths[groups].max(axis=1),
    config.bucket_batches,
    seed,
  )
  return lambda step: groups[dealt.rows(step)].ravel()


def _turns(ids: np.ndarray) -> np.ndarray:
  """Returns the number of earlier occurrences of each id, int [P]."""
  order = np.argsort(ids, kind='stable')
  _, first, counts = np.unique(
    ids[order], return_index=True, return_counts=True
  )
  turns = np.empty_like(order)
  turns[order] = np.arange(len(ids)) - np.repeat(first, counts)
  return turns
