"""Sentences or questions -> what an encoder-decoder reads and writes.

queries, questions -> [this file] -> input_ids and target_ids, int32 [B, L]
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.records import sampling
from realm_tf.training import answer_labels

_WIDTH = 8  # Batches are trimmed to multiples of it: each shape is compiled.

# (rows, random numbers) -> wordpieces of each row's input, and of its output.
Pairs = Callable[
  [np.ndarray, np.random.Generator],
  tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
]


def of_queries(
  table: query_table.QueryTable,
  config: config_lib.ClosedBookConfig,
  mask_id: int,
) -> Pairs:
  """Returns salient spans as outputs, and the rest with one mask as inputs.

  Raffel et al. 2020, Section 3.1.4, with the spans of Guu et al. 2020, as
  Roberts et al. 2020 train it on.
  """
  kind = masking.Masking(
    'salient', config.input_tokens, config.answer_tokens - 1, mask_id
  )

  def pairs(rows, rng):
    batch = masking.mask_batch(table, rows, kind, rng)
    is_masked = batch['token_mask'] > 0
    inputs = [
      np.delete(ids, positions[own][1:])
      for ids, positions, own in zip(
        batch['query_ids'], batch['masked_positions'], is_masked
      )
    ]
    return inputs, [ids[own] for ids, own in zip(batch['gold_ids'], is_masked)]

  return pairs


def of_questions(
  questions: Sequence[questions_lib.Question],
  tokenizer: answer_labels.Tokenizer,
  config: config_lib.ClosedBookConfig,
) -> tuple[Pairs, int]:
  """Returns questions with their first answers, and how many have one.

  Raises:
    UserError: No question has an answer that is a text.
  """
  given = [q for q in questions if q.answers and not q.regex]
  if not given:
    raise errors.UserError(
      'Training needs questions with an answer. Found none in '
      f'{len(questions)} questions. Give others as --questions.'
    )
  found = answer_labels.tokenize(given, tokenizer, config.input_tokens)
  answers = [answers[0] for answers in found.answers]
  return lambda rows, _: (found.ids[rows], [answers[row] for row in rows]), len(
    given
  )


def batches(
  pairs: Pairs,
  num_rows: int,
  end_id: int,
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches; those of a step depend on seed and step only.

  Args:
    num_rows: Rows that `pairs` knows.
    end_id: Wordpiece that ends an input and an output, as in T5.
    share: This process's part of each batch, and the first step.
  """
  config = experiment.closed_book
  sampler = sampling.Sampler(num_rows, config.batch_size, experiment.seed)
  step = share.first_step
  while True:
    rng = sampling.step_rng(experiment.seed, step, 1)
    inputs, outputs = pairs(sampler.rows(step), rng)
    inputs = sampling.end_rows(inputs, config.input_tokens, end_id)
    yield share.take(
      {
        'input_ids': share.trim(inputs, _WIDTH),
        'target_ids': sampling.end_rows(outputs, config.answer_tokens, end_id),
      }
    )
    step += 1
