"""Compares the span reader, and open QA from the question to the answer."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import loading
from realm_tf.importing import hugging_face_model
from realm_tf.importing import hugging_face_names
from realm_tf.importing import model_writing
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.objectives import span_likelihood
from realm_tf.records import answer_spans
from realm_tf.records import joining
from realm_tf.retrieval import retrieval_layer
from tests.parity import peer_arrays

_PREFIX = 'qa_outputs.'


class _Spans:
  """Our spans, [K, Lz, W], in their order: by width, then by start.

  Args:
    joint: The reader's input, int32 [K, L].
    max_width: W.
  """

  def __init__(self, joint: dict[str, np.ndarray], max_width: int):
    length = joint['input_word_ids'].shape[1]
    self.first = joint['input_type_ids'].argmax(axis=1)  # [K]
    self.starts = np.concatenate(
      [np.arange(length - width) for width in range(max_width)]
    )
    self.widths = np.repeat(np.arange(max_width), length - np.arange(max_width))
    self._place = self.starts - self.first[:, None]  # [K, S]

  def take(self, ours: np.ndarray, fill) -> np.ndarray:
    """Returns [K, Lz, W] as [K, S], with `fill` outside of the body."""
    ours = np.asarray(ours)
    inside = (self._place >= 0) & (self._place < ours.shape[1])
    rows = np.arange(len(ours))[:, None]
    place = np.where(inside, self._place, 0)
    return np.where(inside, ours[rows, place, self.widths[None]], fill)

  def put(self, starts, ends, length) -> np.ndarray:
    """Marks spans of the joint sequence, [N, A] with -1, as [N, Lz, W]."""
    marked = np.zeros([len(starts), length, self.widths.max() + 1], bool)
    for row, column in np.argwhere(starts >= 0):
      start, end = starts[row, column], ends[row, column]
      marked[row, start - self.first[row], end - start] = True
    return marked


def _losses(scores, has_answer, spans, is_answer):
  """Returns ORQA's two losses, theirs by name, and the spans' scores.

  Args:
    scores: f(x,z) of the searched blocks, [N].
    has_answer: bool [N].
    spans: Scores of the K read blocks' spans without f(x,z), [K, Lz, W].
    is_answer: bool [K, Lz, W].
  """
  total = spans + scores[: spans.shape[0], None, None]
  retriever = -span_likelihood.early_update_log_likelihood(
    scores[None], tf.constant(has_answer)[None]
  )
  reader = -span_likelihood.span_log_likelihood(
    tf.reshape(total, [1, -1]), tf.reshape(is_answer, [1, -1])
  )
  return {
    'loss': (retriever + reader)[0],
    'retriever_loss': retriever[0],
    'reader_loss': reader[0],
  }, total


def _best(order: _Spans, total) -> dict[str, np.ndarray]:
  """Returns the span that is answered, by their names."""
  listed = order.take(total, -np.inf)
  row, column = np.unravel_index(listed.argmax(), listed.shape)
  start = order.starts[column]
  return {
    'block_idx': row,
    'candidate': column,
    'start_pos': [start],
    'end_pos': [start + order.widths[column]],
  }


def _read(model, joint):
  """Returns span scores, [K, Lz, W]."""
  batch = {name: value[None] for name, value in joint.items()}
  length = int(joint['input_type_ids'].sum(axis=1).max()) - 1
  return model.span_reader(batch, length)[0]


def _span_arrays(model, order, joint, spans, prefix=''):
  named = {n: v.numpy() for n, v in weights.by_name(model.variables).items()}
  named = {n: v for n, v in named.items() if n.startswith('reader_')}
  return {
    f'{prefix}{_PREFIX}reader_logits_before_relevance': order.take(
      spans, peer_arrays.NO_SPAN
    ),
    f'{prefix}{_PREFIX}candidate_starts': order.starts,
    f'{prefix}{_PREFIX}candidate_ends': order.starts + order.widths,
    **peer_arrays.states(
      model.config.reader_bert, named, 'reader', joint, prefix
    ),
  }


def reader(root: str) -> peer_arrays.Folder:
  """Compares spans, both losses, their gradients and the best span."""
  folder = peer_arrays.Folder(root, 'reader')
  inputs = folder.arrays('inputs')
  model = peer_arrays.read_model(root, 'reader', realm_model.SPAN)
  joint = peer_arrays.tokens(inputs)
  order = _Spans(joint, model.config.max_span_width)
  scores = tf.constant(inputs['relevance_score'])
  num_read = len(joint['input_word_ids'])
  with tf.GradientTape() as tape:
    spans = _read(model, joint)
    is_answer = order.put(
      inputs['start_positions'][:num_read],
      inputs['end_positions'][:num_read],
      spans.shape[1],
    )
    losses, total = _losses(scores, inputs['has_answers'], spans, is_answer)
  folder.compare(
    'outputs',
    {
      **losses,
      'retriever_correct': inputs['has_answers'],
      'reader_correct': order.take(is_answer, False),
      **_best(order, total),
      **_span_arrays(model, order, joint, spans),
    },
  )
  nothing, _ = _losses(
    scores, np.zeros(len(scores), bool), spans, np.zeros_like(is_answer)
  )
  folder.compare('variants', {'loss_when_no_answer_retrieved': nothing['loss']})
  roles = hugging_face_names.ROLES['RealmReader']
  gradients = peer_arrays.gradients(tape, losses['loss'], model)
  folder.compare_gradients('grads', gradients, model, roles)
  return folder


def _import(root: str, inputs, directory: str) -> answerer_lib.Answerer:
  """Imports the whole QA model, blocks and all, as a user does."""
  source = os.path.join(directory, 'source')
  shutil.copytree(os.path.join(root, 'hugging_face', 'openqa'), source)
  os.chmod(source, 0o755)
  with open(os.path.join(source, 'vocab.txt'), 'w') as file:
    file.writelines(f'{piece.decode()}\n' for piece in inputs['vocab'])
  records = np.empty(len(inputs['block_records']), object)
  records[:] = [bytes(text) for text in inputs['block_records']]
  np.save(os.path.join(source, 'block_records.npy'), records, allow_pickle=True)
  model_dir = os.path.join(directory, 'model')
  model_writing.write(hugging_face_model.load(source), model_dir)
  return loading.load(model_dir, os.path.join(model_dir, 'corpus'))


class _OpenQa:
  """One question, answered step by step by the imported model."""

  def __init__(self, loaded, inputs, num_searched):
    tokenizer = loaded.tokenizer
    special_ids = tokenizer.special_ids
    config = loaded.config
    self.model = loaded.model
    (ids,) = tokenizer.token_ids_batch([inputs['question'].item().decode()])
    self.question = joining.pack_longest(
      tf.constant(ids[None]), None, *special_ids
    )
    found = retrieval_layer.over_index(loaded)(ids[None], num_searched)
    self.block_ids, self.found_scores = found.block_ids[0], found.scores[0]
    _, bodies = loaded.table.gather(
      self.block_ids, 1, config.finetuning.joint_tokens
    )
    repeated = tf.constant(np.tile(ids, [num_searched, 1]))
    self.joint = {
      name: value.numpy()
      for name, value in joining.pack(
        repeated,
        tf.constant(bodies),
        *special_ids,
        config.finetuning.joint_tokens,
      ).items()
    }
    self.num_read = min(config.finetuning.num_read, num_searched)
    self.read = {n: v[: self.num_read] for n, v in self.joint.items()}
    self.order = _Spans(self.read, config.model.max_span_width)
    answers = [row[row >= 0] for row in inputs['answer_ids']]
    self.has_answer, self.is_answer = answer_spans.find(
      bodies, answers, config.model.max_span_width
    )
    self.is_special = np.isin(self.joint['input_word_ids'], special_ids)

  def run(self, embeddings):
    """Returns question's embedding, losses and scores of spans."""
    question = self.model.embed_queries(self.question)  # [1, D]
    scores = tf.einsum('bd,nd->n', question, embeddings)
    spans = _read(self.model, self.read)
    is_answer = self.is_answer[: self.num_read, : spans.shape[1]]
    losses, total = _losses(scores, self.has_answer, spans, is_answer)
    return question, scores, spans, losses, total

  def positions(self, number):
    """Returns where answers stand in the joint sequences, [N, `number`] each.

    The first ones of each block; -1 fills a row.
    """
    starts = np.full([len(self.is_answer), number], -1)
    ends = starts.copy()
    first = self.joint['input_type_ids'].argmax(axis=1)
    for row, is_answer in enumerate(self.is_answer):
      for column, (start, width) in enumerate(np.argwhere(is_answer)[:number]):
        starts[row, column] = first[row] + start
        ends[row, column] = starts[row, column] + width
    return {'start_positions': starts, 'end_positions': ends}


def open_qa(root: str) -> peer_arrays.Folder:
  """Compares a question's way from its text to losses and the answer."""
  folder = peer_arrays.Folder(root, 'openqa')
  inputs = folder.arrays('inputs')
  with tempfile.TemporaryDirectory() as directory:
    loaded = _import(root, inputs, directory)
    embeddings = folder.arrays('weights')['block_emb']
    for split in ('eval', 'train'):
      theirs = folder.arrays(f'outputs_{split}')
      ours = _OpenQa(loaded, inputs, len(theirs['retrieved_block_ids']))
      with tf.GradientTape() as tape:
        result = ours.run(embeddings[ours.block_ids])
      num_positions = theirs['start_positions'].shape[1]
      _compare_open_qa(folder, split, ours, result, num_positions)
  roles = hugging_face_names.ROLES['RealmForOpenQA']
  gradients = peer_arrays.gradients(tape, result[3]['loss'], ours.model)
  folder.compare_gradients('grads_train', gradients, ours.model, roles)
  return folder


def _compare_open_qa(folder, split, ours, result, num_positions):
  question, _, spans, losses, total = result
  best = _best(ours.order, total)
  row, start, end = best['block_idx'], best['start_pos'][0], best['end_pos'][0]
  folder.compare(
    f'outputs_{split}',
    {
      'question_projection': question,
      'retrieved_logits': ours.found_scores,
      'retrieved_block_ids': ours.block_ids,
      'concat_input_ids': ours.joint['input_word_ids'],
      'concat_attention_mask': ours.joint['input_mask'],
      'concat_token_type_ids': ours.joint['input_type_ids'],
      'concat_special_tokens_mask': ours.is_special
      | (ours.joint['input_mask'] == 0),
      'has_answers': ours.has_answer,
      'retriever_correct': ours.has_answer,
      **ours.positions(num_positions),
      **losses,
      'reader_correct': ours.order.take(ours.is_answer[: ours.num_read], False),
      **best,
      'predicted_answer_ids': ours.joint['input_word_ids'][row][
        start : end + 1
      ],
      **_span_arrays(ours.model, ours.order, ours.read, spans, 'reader.'),
    },
  )
