"""A QA model, its index and its corpus -> one SavedModel that answers strings.

Loading it needs only tensorflow and tensorflow_text. docs/export.md shows how
TensorFlow Serving runs it.
"""

import functools

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.exchange import graph_answerer
from realm_tf.index import embedding
from realm_tf.index import exact_search
from realm_tf.index import model_files
from realm_tf.index import searchers
from realm_tf.qa import loading
from realm_tf.run import layout

SIGNATURE = 'serving_default'


class ExactSearch(tf.Module):
  """Exact search inside a graph, for batches of unknown size.

  Equal scores are sorted by block id. The module copies the embeddings, float32
  [N, D], which may be memory-mapped.
  """

  def __init__(self, embeddings: np.ndarray):
    super().__init__(name='exact_search')
    self._num_blocks = len(embeddings)
    self._embeddings = tf.Variable(
      exact_search.padded(embeddings), trainable=False
    )

  def find(self, queries: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns ids, int32 [B, k], and scores, float32 [B, k]; k <= N."""
    found = exact_search.top_rows(
      self._embeddings, queries, self._num_blocks, k
    )
    ids, scores = (tf.ensure_shape(x, [None, k]) for x in found)
    return ids, scores


def export(
  loaded: model_files.OpenModel,
  output_dir: str,
  choices: loading.Choices = loading.DEFAULT_CHOICES,
  searcher: str = 'exact',
) -> None:
  """Writes the SavedModel, or replaces the files in `output_dir`.

  Args:
    choices: Without BM25, which has no ops; the graph computes in float32.
    searcher: One of `names.SAVED_SEARCHERS`; loading 'scann' needs scann.
  """
  found, finetuning = loading.choose_reader(loaded, choices)
  reader = loading.require_reader(found, loaded.path)
  if not loaded.table.num_blocks:
    raise errors.UserError(
      '--corpus_dir must hold blocks to answer from. Found none. Make them '
      'with bin.make_blocks.'
    )
  module = tf.train.Checkpoint()
  module.searcher, find = _searcher(
    loaded,
    searcher,
    graph_answerer.num_searched(finetuning, loaded.table.num_blocks),
  )
  module.blocks = graph_answerer.GraphBlocks(loaded.table)
  answerer = graph_answerer.GraphAnswerer(
    loaded.tokenizer,
    module.blocks,
    loaded.table.num_blocks,
    loaded.model,
    reader,
    find,
    loaded.config.lengths,
    finetuning,
    loading.confidence_of(loaded, choices, finetuning),
  )
  # The graphs use Keras layers; only their variables are saved.
  named = {v.ref(): v for v in (*loaded.model.variables, *reader.variables)}
  module.parameters = list(named.values())
  module.vocab_file = tf.saved_model.Asset(layout.vocab_file(loaded.path))
  module.answer = in_batches(answerer)
  tf.saved_model.save(module, output_dir, {SIGNATURE: module.answer})


def _searcher(loaded, name, k):
  """Returns a module, and its search of the top `k` inside a graph."""
  embeddings, config = loaded.index.embeddings, loaded.config.index
  if name == 'exact':
    exact = ExactSearch(embeddings)
    return exact, exact.find
  from realm_tf.index import scann_module

  built = scann_module.ScannModule.build(embeddings, config)
  lengths, tokenizer = loaded.config.lengths, loaded.tokenizer
  # The index was tuned with other partitions.
  queries = searchers.sample_queries(
    loaded.table,
    embedding.compile_queries(
      loaded.model, lengths.query_tokens, tokenizer.special_ids
    ),
    lengths,
    tokenizer.mask_id,
  )
  settings = {'kind': name}
  tuned = searchers.tune(built, settings, embeddings, config, queries, [k])
  return built, functools.partial(built.find, effort=tuned.searcher.efforts[k])


def in_batches(answerer: graph_answerer.GraphAnswerer):
  """Returns a function of string [B] that answers any number of questions.

  The function answers `eval_batch_size` questions at a time, so that only the
  results' memory grows with B.
  """
  size = answerer.finetuning.eval_batch_size
  spec = tf.TensorSpec([None], tf.string, name='questions')
  few = tf.function(answerer.answer, input_signature=[spec], autograph=False)
  outputs = few.get_concrete_function().structured_outputs
  names = sorted(outputs)

  @tf.function(input_signature=[spec], autograph=False)
  def answer(questions):
    number = tf.maximum(1, -(-tf.shape(questions)[0] // size))
    arrays = tuple(
      tf.TensorArray(
        outputs[name].dtype,
        number,
        infer_shape=False,
        element_shape=outputs[name].shape,
      )
      for name in names
    )

    def step(i, arrays):
      results = few(questions[i * size : (i + 1) * size])
      return i + 1, tuple(
        array.write(i, results[name]) for name, array in zip(names, arrays)
      )

    _, arrays = tf.while_loop(
      lambda i, _: i < number,
      step,
      (tf.constant(0), arrays),
      parallel_iterations=1,
    )
    return {name: array.concat() for name, array in zip(names, arrays)}

  return answer
