"""Computes an encoder's equal layers as one loop, for a TPU.

The compiled program has the instructions of one layer instead of twelve, and
keeps the values between layers, and the largest products, in bfloat16.

Attention is computed for few sequences at a time. The scores of a whole batch
are the largest arrays of a step; those that few sequences have fit in a core's
fast memory, and never reach its main memory. The gradient computes them again.
"""

from collections.abc import Callable, Sequence
import functools
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import dropout
from realm_tf.model import islands_layer
from realm_tf.model import precision

# Of scores in bfloat16. The gradient has several arrays of this size.
_MOST_BYTES = 2**24
_spec = tf.TensorSpec.from_tensor
Tensors = Sequence[tf.Tensor]
# (weights, states [B, L, H], seeds, kept products) -> states [B, L, H]
Layer = Callable[
  [Tensors, tf.Tensor, tf.Tensor | None, 'KeptProducts'], tf.Tensor
]
# (number of the turn, carried) -> (carried, values of the turn)
Step = Callable[[tf.Tensor, Any], tuple[Any, Sequence[tf.Tensor]]]


class KeptProducts(islands_layer.Products):
  """Keeps the products of a pass, or has them from an earlier one.

  Args:
    known: The earlier pass's products. They are not computed again; their
      gradients are.
  """

  def __init__(self, known: Tensors = ()):
    self.products: list[tf.Tensor] = []
    self._known = iter(known)

  def multiply(self, states: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return self._product('blh,hc->blc', states, kernel)

  def split_heads(
    self, states: tf.Tensor, parts: Sequence[islands_layer.Part]
  ) -> Tensors:
    # One product would lie in memory by wordpieces, and attention needs heads.
    found = []
    for part in parts:
      product = self._product('blh,had->bald', states, part.kernel)
      total = tf.cast(product, tf.float32) + part.bias[:, None]
      found.append(tf.cast(total * part.scale, product.dtype))
    return found

  def attend(
    self,
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    bias: tf.Tensor,
    rate: float,
    seed: tf.Tensor | None,
  ) -> tf.Tensor:
    known = next(self._known, None)
    mixed = attend_in_chunks(query, key, value, bias, rate, seed, known)
    self.products.append(mixed)
    return mixed

  def join_heads(self, mixed: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return self._product('bald,adh->blh', mixed, kernel)

  def _product(self, equation, states, kernel):
    known = next(self._known, None)
    inputs, result = equation.split('->')
    left, right = inputs.split(',')

    @tf.custom_gradient
    def call(states, kernel):
      def gradient(upstream):
        return (
          tf.einsum(f'{result},{right}->{left}', upstream, kernel),
          tf.einsum(f'{left},{result}->{right}', states, upstream),
        )

      if known is not None:
        return tf.identity(known), gradient
      return tf.einsum(equation, states, kernel), gradient

    self.products.append(call(states, tf.cast(kernel, states.dtype)))
    return self.products[-1]


def run(
  layer: Layer,
  weights: Tensors,
  states: tf.Tensor,
  seeds: tf.Tensor | None,
  kept: Sequence[tf.TensorSpec],
) -> tf.Tensor:
  """Returns the states after all layers, bfloat16 [B, L, H].

  Args:
    weights: Weights of all N layers, [N, ...] each.
    states: bfloat16 [B, L, H].
    seeds: Dropout seeds, int32 [N, ...], or None.
    kept: A layer's products, if the gradient keeps them; else it computes each
      layer again.
  """
  number = weights[0].shape[0]
  of_layer = lambda i: None if seeds is None else seeds[i]

  @tf.custom_gradient
  def call(states, *weights):
    def forward(i, states):
      made = KeptProducts()
      after = layer([w[i] for w in weights], states, of_layer(i), made)
      return after, [states, *made.products[: len(kept)]]

    last, values = scan(number, forward, states, [_spec(states), *kept])

    def gradient(upstream):
      def backward(i, upstream):
        before, *known = (each[i] for each in values)
        own = [w[i] for w in weights]
        with tf.GradientTape() as tape:
          tape.watch([before, *own])
          after = layer(own, before, of_layer(i), KeptProducts(known))
        found = tape.gradient(after, [before, *own], upstream)
        return found[0], found[1:]

      first, found = scan(
        number, backward, upstream, [_spec(w[0]) for w in weights], True
      )
      return first, *found

    return last, gradient

  return call(states, *weights)


def product_specs(
  states: tf.Tensor, config: config_lib.BertConfig
) -> list[tf.TensorSpec]:
  """Returns the specs of `KeptProducts.products` of one layer."""
  size, length, width = states.shape
  heads = [size, config.num_heads, length, width // config.num_heads]
  joined = [size, length, width]
  inner = [size, length, config.intermediate_size]
  shapes = [heads, heads, heads, heads, joined, inner, joined]
  return [tf.TensorSpec(shape, tf.bfloat16) for shape in shapes]


def attend_in_chunks(
  query: tf.Tensor,
  key: tf.Tensor,
  value: tf.Tensor,
  bias: tf.Tensor,
  rate: float = 0.0,
  seed: tf.Tensor | None = None,
  known: tf.Tensor | None = None,
) -> tf.Tensor:
  """Returns the result of `islands.attend`, bfloat16 [B, A, M, D].

  Args:
    query: bfloat16 [B, A, M, D], scaled; all sizes are known.
    key: bfloat16 [B, A, L, D].
    value: bfloat16 [B, A, L, D].
    bias: Added to each key's scores, float32 [B, L].
    seed: Seed of dropout; None drops nothing.
    known: The result, if it was computed before: only the gradient is computed.
  """
  rate = 0.0 if seed is None else rate
  drop = lambda values, start: dropout.drop(values, rate, seed, start)
  like_query, like_key = (
    tf.TensorSpec(each.shape[1:], each.dtype) for each in (query, key)
  )

  @tf.custom_gradient
  def call(query, key, value):
    mixed = known
    if mixed is None:
      (mixed,) = _in_chunks(
        functools.partial(_forward, drop),
        (query, key, value, bias),
        [like_query],
      )

    def gradient(d_mixed):
      return _in_chunks(
        functools.partial(_backward, drop),
        (query, key, value, bias, mixed, d_mixed),
        [like_query, like_key, like_key],
      )

    return mixed, gradient

  return call(query, key, value)


def _forward(drop, start, query, key, value, bias):
  """Returns the result for sequences whose first score has number `start`."""
  weight, total = _weights(query, key, bias)
  return [
    precision.to_half(
      precision.to_float(precision.to_half(drop(weight, start)) @ value) / total
    )
  ]


def _backward(drop, start, query, key, value, bias, mixed, d_mixed):
  """Returns the gradients of query, key and value."""
  weight, total = _weights(query, key, bias)
  probabilities = weight / total
  # As in `islands.attend`: a sum of D terms instead of L.
  mean = tf.reduce_sum(
    precision.to_float(mixed) * precision.to_float(d_mixed),
    axis=-1,
    keepdims=True,
  )
  d_kept = precision.to_float(tf.matmul(d_mixed, value, transpose_b=True))
  d_scores = precision.to_half(probabilities * (drop(d_kept, start) - mean))
  return [
    d_scores @ key,
    tf.matmul(d_scores, query, transpose_a=True),
    tf.matmul(
      precision.to_half(drop(probabilities, start)), d_mixed, transpose_a=True
    ),
  ]


def _weights(query, key, bias):
  """Returns exponentials, float32 [N, A, M, L], and sums [N, A, M, 1]."""
  scores = precision.to_float(tf.matmul(query, key, transpose_b=True))
  scores += bias[:, None, None, :]
  scores -= tf.reduce_max(scores, axis=-1, keepdims=True)
  weight = tf.exp(scores)
  return weight, tf.reduce_sum(weight, axis=-1, keepdims=True)


def _in_chunks(function, arrays, specs):
  """Returns the function's values for all sequences.

  Args:
    function: (number of the first score, arrays of some sequences) -> values.
    arrays: Tensors of all sequences, [B, ...]; the first is the query, the
      second the key.
    specs: Specs of one sequence's values.
  """
  size, heads, queried, _ = arrays[0].shape
  num_scores = heads * queried * arrays[1].shape[2]
  most = max(1, _MOST_BYTES // (2 * num_scores))
  share = max(n for n in range(1, size + 1) if size % n == 0 and n <= most)
  if share == size:
    return function(None, *arrays)
  parts = [
    tf.reshape(each, [size // share, share, *each.shape[1:]]) for each in arrays
  ]

  def step(i, carried):
    return carried, function(
      i * (share * num_scores), *(each[i] for each in parts)
    )

  _, values = scan(
    size // share,
    step,
    (),
    [tf.TensorSpec([share, *each.shape], each.dtype) for each in specs],
  )
  return [tf.reshape(each, [size, *each.shape[2:]]) for each in values]


def scan(
  number: int,
  step: Step,
  carried: Any,
  values: Sequence[tf.TensorSpec],
  backwards: bool = False,
) -> tuple[Any, list[tf.Tensor]]:
  """Returns the last tensors, and the values of all turns, [number, ...].

  Has no gradient: a loop's own would keep every value of every turn.

  Args:
    carried: Tensors of the same types and shapes before and after each turn.
    values: Types and shapes of a turn's values.
    backwards: Whether the turns run from `number` - 1 to 0.
  """
  arrays = [
    tf.TensorArray(each.dtype, number, element_shape=each.shape)
    for each in values
  ]

  def turn(turns, carried, arrays):
    i = number - 1 - turns if backwards else turns
    carried, found = step(i, carried)
    written = [
      array.write(i, value) for array, value in zip(arrays, found, strict=True)
    ]
    return turns + 1, carried, written

  _, carried, arrays = tf.while_loop(
    lambda turns, *_: turns < number, turn, (tf.constant(0), carried, arrays)
  )
  return carried, [array.stack() for array in arrays]
