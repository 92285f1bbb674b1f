"""Tests that an imported RealmForOpenQA answers as Hugging Face's does.

The model is imported as a user imports it, with its vocabulary and its blocks;
a question passes the same code as in training and in answering.
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.config import names
from realm_tf.corpus import questions
from realm_tf.data import joining
from realm_tf.exchange import hugging_face
from realm_tf.exchange import model_writing
from realm_tf.qa import loading
from realm_tf.retrieval import retrievers
from realm_tf.training import answer_labels
from realm_tf.training import finetuning
from tests.parity import peer_outputs
from tests.parity import realm_weights


class OpenQaTest(peer_outputs.PeerTestCase):
  def setUp(self):
    super().setUp()
    source = self.write_directory('RealmForOpenQA', realm_weights.open_qa(49))
    with open(os.path.join(source, 'vocab.txt'), 'w') as file:
      file.writelines(f'{piece}\n' for piece in realm_weights.VOCABULARY)
    blocks = [text.encode() for text in realm_weights.BLOCKS]
    np.save(
      os.path.join(source, 'block_records.npy'),
      np.array(blocks, object),
      allow_pickle=True,
    )
    model_dir = self.create_tempdir().full_path
    model_writing.write(self._import(source), model_dir)
    self.loaded = loading.load(model_dir, os.path.join(model_dir, 'corpus'))
    # Their answers may cut words; ours may not.
    self.loaded.tokenizer.is_inner = None
    self.loaded.model.span_reader.is_inner = None
    self.config = self.loaded.config
    self.special_ids = self.loaded.tokenizer.special_ids
    self.retriever = retrievers.open(
      names.MODEL, self.loaded.table, self.loaded
    )
    self.questions = answer_labels.tokenize(
      [questions.Question(realm_weights.QUESTION, realm_weights.ANSWERS)],
      self.loaded.tokenizer,
      self.config.lengths.question_tokens,
    )

  def _import(self, source):
    """Imports the model; it trains as theirs, in float32 without noise."""
    found = hugging_face.load(source)
    model, finetuning = found.model, found.finetuning
    embedder = dataclasses.replace(model.embedder, dropout_rate=0.0)
    return found._replace(
      model=dataclasses.replace(
        model, embedder=embedder, train_dtype='float32'
      ),
      finetuning=dataclasses.replace(
        finetuning, batch_size=1, read_answer_block=False
      ),
    )

  def _batch(self) -> dict[str, tf.Tensor]:
    labels = answer_labels.AnswerLabels(
      self.questions,
      self.loaded.table,
      self.loaded.tokenizer,
      config=self.config.finetuning,
    )
    batches = finetuning.batches(
      labels,
      self.retriever,
      np.asarray(self.loaded.index.embeddings),
      experiment=self.config,
    )
    return tf.nest.map_structure(tf.constant, next(batches))

  def test_retrieved_blocks_and_packed_inputs(self):
    config = self.config.finetuning
    found = self.retriever.retrieve(
      self.questions.queries(), config.num_searched
    )
    _, bodies = self.loaded.table.gather(
      found.block_ids, 1, config.joint_tokens
    )
    packed = joining.pack_pairs(
      tf.constant(self.questions.ids),
      tf.constant(bodies),
      *self.special_ids,
      config.joint_tokens,
    )
    self.assert_same(
      'open_qa',
      {
        'block_ids': found.block_ids[0],
        'relevance_score': found.scores[0],
        'input_ids': packed['input_word_ids'][0],
        'attention_mask': packed['input_mask'][0],
        'token_type_ids': packed['input_type_ids'][0],
      },
    )

  def test_labels_both_losses_and_gradients(self):
    trainer = finetuning.FinetuningTrainer(
      tf_keras.optimizers.legacy.SGD(),
      self.loaded.model,
      self.config,
      special_ids=self.special_ids,
    )
    batch = self._batch()
    with tf.GradientTape() as tape:
      loss, logs = trainer.loss_and_logs(batch)
    self.assert_same(
      'open_qa',
      {
        'has_answers': batch['has_answer'][0],
        'loss': loss,
        'retriever_loss': -logs['early_update_log_likelihood'][0],
        'reader_loss': -logs['span_log_likelihood'][0],
      },
    )
    # Their positions are of the whole input, in which the body begins after the
    # first segment, and in all searched blocks; ours are of the blocks to read.
    first = self.expected['open_qa.token_type_ids'][0].argmax()
    starts, ends = (
      self.expected[f'open_qa.{name}_positions'] for name in ('start', 'end')
    )
    spans = [
      [row, starts[row, column] - first, (ends - starts)[row, column]]
      for row, column in np.argwhere(starts >= 0)
      if row < self.config.finetuning.num_read
    ]
    self.assertNotEmpty(spans)
    self.assertCountEqual(np.argwhere(batch['is_answer'][0]).tolist(), spans)
    self.assert_same_gradients(
      'open_qa', 'RealmForOpenQA', self.loaded.model, tape, loss
    )

  def test_answer_and_the_best_score_of_each_block(self):
    answerer = loading.answerer_of(
      self.loaded, loading.Choices(read_dtype='float32')
    )
    (answer,) = answerer.answer([realm_weights.QUESTION])
    (ids,) = self.loaded.tokenizer.token_ids_batch([answer.prediction])
    self.assertAllEqual(ids, self.expected['open_qa.answer_ids'])
    scores = {item.block_id: item.score for item in answer.evidence}
    read = self.expected['open_qa.block_ids'][: answerer.num_read]
    best_scores = [scores[block_id] for block_id in read]
    self.assert_same('open_qa', {'best_scores': best_scores})


if __name__ == '__main__':
  tf.test.main()
