"""Calls exported models; imports only TensorFlow's packages.

A list of {"path", "batches": [[question]]} on stdin, of SavedModels ->
[[outputs of each batch]]. {"query": PATH, "block": PATH, "knowledge": PATH,
"inputs": {...}}, of TF Hub modules -> {name of a result: values}, also of
training.
"""

import json
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers ops.

_RELEASED = {
  'input_word_ids': 'input_ids',
  'input_mask': 'input_mask',
  'input_type_ids': 'segment_ids',
}


def _released(packed):
  return {_RELEASED.get(name, name): ids for name, ids in packed.items()}


def _trained(layer, inputs):
  """Returns embeddings before and after one step, and counts of weights."""
  before = layer(inputs)
  with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.square(layer(inputs, training=True)))
  gradients = tape.gradient(loss, layer.trainable_weights)
  for variable, gradient in zip(layer.trainable_weights, gradients):
    variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))
  return {
    'before': before,
    'after': layer(inputs),
    'without_gradient': sum(gradient is None for gradient in gradients),
    'num_weights': len(layer.trainable_weights),
    'losses': len(layer.losses),
  }


def _call_modules(request):
  import tensorflow_hub as hub

  inputs = request['inputs']
  texts = tf.constant(inputs['texts'])
  blocks = {'titles': tf.constant(inputs['titles']), 'texts': texts}
  pairs = {'queries': tf.constant(inputs['queries']), 'texts': texts}
  packed = {
    name: tf.constant(ids, tf.int32) for name, ids in inputs['packed'].items()
  }
  query, block, knowledge = (
    hub.load(request[name]) for name in ('query', 'block', 'knowledge')
  )
  masked = packed.pop('mlm_positions')
  yield 'query', query(texts)
  yield 'query_packed', query(packed)
  released = _released(packed)
  projected = query.signatures['projected'](**released)
  yield 'query_projected', projected['default']
  yield 'query_served', query.signatures['serving_default'](texts=texts)
  yield 'block', block(blocks)
  yield 'block_served', block.signatures['serving_default'](**blocks)
  yield 'knowledge', knowledge(pairs)
  yield 'knowledge_packed', knowledge({**packed, 'mlm_positions': masked})
  yield 'tokens', knowledge.signatures['tokens'](**released)
  yield 'mlm', knowledge.signatures['mlm'](**released, mlm_positions=masked)
  layer = hub.KerasLayer(query, trainable=True)
  yield 'trained', _trained(layer, texts)
  layer = hub.KerasLayer(block, trainable=True)
  yield 'block_trained', _trained(layer, blocks)
  with open(query.vocab_file.asset_path.numpy()) as file:
    yield 'vocabulary', file.read().split()
  yield 'do_lower_case', query.do_lower_case.numpy().item()


def _call_saved_model(request):
  model = tf.saved_model.load(request['path'])
  answer = model.signatures['serving_default']
  return [
    answer(questions=tf.constant(batch, tf.string))
    for batch in request['batches']
  ]


def _as_json(values):
  if isinstance(values, dict):
    return {name: _as_json(value) for name, value in values.items()}
  if isinstance(values, list):
    return [_as_json(value) for value in values]
  if isinstance(values, tf.Tensor):
    return _as_json(values.numpy().tolist())
  return values.decode() if isinstance(values, bytes) else values


def main():
  request = json.load(sys.stdin)
  if isinstance(request, list):
    results = [_call_saved_model(each) for each in request]
  else:
    results = dict(_call_modules(request))
  # Loading must import neither realm_tf nor its dependencies.
  ours = {'realm_tf', 'official', 'orbit', 'scann'} & set(sys.modules)
  if ours:
    raise RuntimeError(f'The models needed {ours}.')
  sys.stdout.write(json.dumps(_as_json(results)) + '\n')


if __name__ == '__main__':
  main()
