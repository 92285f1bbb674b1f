"""Tells which kind of span head an imported reader has, by reading with it.

No config says whether a reader was trained on questions without an answer
(SQuAD 2.0). Such a reader gives a passage on something else its null span.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.exchange import imported as imported_lib
from realm_tf.model import realm_model
from realm_tf.text import wordpiece

# Questions, and passages that answer them.
_PAIRS = {
  'Who built the lighthouse of Tern Point?': (
    'The lighthouse of Tern Point was built by Ada Lund in 1871.'
  ),
  'How many rooms does the old inn have?': (
    'The old inn at the crossing has 45 rooms and a garden.'
  ),
  'When did the ferry to Holm begin to run?': (
    'In May 1931 the ferry to Holm began to run twice a day.'
  ),
  'What do the beavers of the valley eat?': (
    'The beavers of the valley eat bark, and reeds in summer.'
  ),
  'Where is the oldest observatory of the country?': (
    'The oldest observatory of the country stands in Marwick.'
  ),
  'Which river flows through the copper mine?': (
    'The Senn flows through the copper mine and floods it in spring.'
  ),
  'What is the choir known for?': (
    'The choir is known for its songs without words.'
  ),
  'How long was the first bridge?': (
    'The first bridge, made of oak, was 210 metres long.'
  ),
}
_LONGEST = 64  # Wordpieces of a question and a passage.
_MAX_WIDTH = 30  # Longest answer: 30 wordpieces, as the scripts for SQuAD.


def resolve(found: imported_lib.Imported) -> imported_lib.Imported:
  """Returns a reader with its kind of head, its settings and a note.

  Raises:
    UserError: The reader has no vocabulary.
  """
  vocab_file = found.require_vocabulary()
  model = dataclasses.replace(
    found.model, span_head='linear_null', max_span_width=_MAX_WIDTH
  )
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  reader = realm_model.RealmModel(model, [realm_model.SPAN], tokenizer.is_inner)
  reader.load(found.arrays)
  questions, passages = (
    sampling.pad_rows(tokenizer.token_ids_batch(list(texts)), _LONGEST)
    for texts in (_PAIRS.keys(), _PAIRS.values())
  )
  tokens = joining.pack_pairs(
    tf.constant(questions),
    tf.constant(np.tile(passages, [len(questions), 1, 1])),
    *tokenizer.special_ids,
    min(2 * _LONGEST, model.reader_bert.max_positions),
  )
  scores = reader.span_reader(tokens, passages.shape[1])
  best = tf.reduce_max(scores.spans, axis=[2, 3])
  # Passages that answer another question, and those with a null span.
  is_foreign = ~np.eye(len(questions), dtype=bool)
  number = np.sum((scores.null > best).numpy() & is_foreign)
  of = np.sum(is_foreign)
  has_null = bool(2 * number > of)
  says = (
    'a reader that can say so, as after SQuAD 2.0'
    if has_null
    else 'a reader that always answers, as after SQuAD 1.1'
  )
  note = f'The span head finds no answer in {number} of {of} passages: {says}.'
  return found._replace(
    model=dataclasses.replace(
      model, span_head='linear_null' if has_null else 'linear'
    ),
    finetuning=config_lib.FinetuningConfig(
      joint_tokens=min(384, model.reader_bert.max_positions),
      null_spans=has_null,
      answer_by='text',
    ),
    notes=(note, *found.notes),
  )
