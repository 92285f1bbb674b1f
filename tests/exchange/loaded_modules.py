"""Calls and trains TF Hub modules, without realm_tf.

{"query": PATH, "block": PATH, "knowledge": PATH, "inputs": {...}} on stdin ->
{name of a result: values}
"""

import json
import sys

import tensorflow as tf
import tensorflow_hub as hub
import tensorflow_text  # noqa: F401, registers ops.

_RELEASED = {
  'input_word_ids': 'input_ids',
  'input_mask': 'input_mask',
  'input_type_ids': 'segment_ids',
}


def _released(packed):
  return {_RELEASED.get(name, name): ids for name, ids in packed.items()}


def _trained(module, inputs):
  """Returns embeddings before and after one step, and counts of weights."""
  layer = hub.KerasLayer(module, trainable=True)
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


def _call(request):
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
  yield 'trained', _trained(query, texts)
  yield 'block_trained', _trained(block, blocks)
  with open(query.vocab_file.asset_path.numpy()) as file:
    yield 'vocabulary', file.read().split()
  yield 'do_lower_case', query.do_lower_case.numpy().item()


def _as_json(values):
  if isinstance(values, dict):
    return {name: _as_json(value) for name, value in values.items()}
  return values.numpy().tolist() if isinstance(values, tf.Tensor) else values


def main():
  results = {name: _as_json(v) for name, v in _call(json.load(sys.stdin))}
  # Loading must import neither realm_tf nor its dependencies.
  ours = {'realm_tf', 'official', 'orbit', 'scann'} & set(sys.modules)
  if ours:
    raise RuntimeError(f'The modules needed {ours}.')
  sys.stdout.write(json.dumps(results) + '\n')


if __name__ == '__main__':
  main()
