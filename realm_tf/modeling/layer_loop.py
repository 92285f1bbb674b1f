"""Computes an encoder's equal layers as one loop, for a TPU.

The compiled program has the instructions of one layer instead of twelve, and
keeps the values between layers, and the largest products, in bfloat16.
"""

from collections.abc import Callable, Sequence
from typing import Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import bfloat16_layer
from realm_tf.modeling import chunked_attention
from realm_tf.modeling import scan

Tensors = Sequence[tf.Tensor]
# (weights, states [B, L, H], seeds, kept products) -> states [B, L, H]
Layer = Callable[[Tensors, tf.Tensor, Optional[tf.Tensor], 'Kept'], tf.Tensor]


class Kept(bfloat16_layer.Products):
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

  def split(
    self, states: tf.Tensor, parts: Sequence[bfloat16_layer.Part]
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
    seed: Optional[tf.Tensor],
  ) -> tf.Tensor:
    known = next(self._known, None)
    mixed = chunked_attention.attend(query, key, value, bias, rate, seed, known)
    self.products.append(mixed)
    return mixed

  def join(self, mixed: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
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
  seeds: Optional[tf.Tensor],
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
      made = Kept()
      after = layer([w[i] for w in weights], states, of_layer(i), made)
      return after, [states, *made.products[: len(kept)]]

    last, values = scan.scan(number, forward, states, [_spec(states), *kept])

    def gradient(upstream):
      def backward(i, upstream):
        before, *known = (each[i] for each in values)
        own = [w[i] for w in weights]
        with tf.GradientTape() as tape:
          tape.watch([before, *own])
          after = layer(own, before, of_layer(i), Kept(known))
        found = tape.gradient(after, [before, *own], upstream)
        return found[0], found[1:]

      first, found = scan.scan(
        number, backward, upstream, [_spec(w[0]) for w in weights], True
      )
      return first, *found

    return last, gradient

  return call(states, *weights)


def product_specs(
  states: tf.Tensor, config: config_lib.BertConfig
) -> list[tf.TensorSpec]:
  """Returns the specs of `Kept.products` of one layer."""
  size, length, width = states.shape
  heads = [size, config.num_heads, length, width // config.num_heads]
  joined = [size, length, width]
  inner = [size, length, config.intermediate_size]
  shapes = [heads, heads, heads, heads, joined, inner, joined]
  return [tf.TensorSpec(shape, tf.bfloat16) for shape in shapes]


def _spec(tensor):
  return tf.TensorSpec(tensor.shape, tensor.dtype)
