"""Tests for realm_tf.data.joining: TensorFlow against plain Python."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.data import joining

_CLS, _SEP = 101, 102
_NAMES = ('input_word_ids', 'input_mask', 'input_type_ids')


def _plain(first, second, length):
  """Packs two lists of wordpieces (or one, and None) in plain Python."""
  first = [i for i in first if i]
  if second is None:
    words = [_CLS, *first[: length - 2], _SEP]
    types = [0] * len(words)
  else:
    first = first[: length - 3]
    second = [i for i in second if i][: length - 3 - len(first)]
    words = [_CLS, *first, _SEP, *second, _SEP]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
  padding = [0] * (length - len(words))
  return words + padding, [1] * len(words) + padding, types + padding


def _random_ids(rng, size, width):
  """Returns zero-padded rows of random length; some are empty or full."""
  ids = rng.integers(1, 100, [size, width])
  lengths = rng.integers(0, width + 1, [size, 1])
  return np.where(np.arange(width) < lengths, ids, 0).astype(np.int32)


def _pack(first, second, length):
  return joining.pack(first, second, _CLS, _SEP, length)


class PackTest(tf.test.TestCase, parameterized.TestCase):
  def _assert_packed(self, actual, words, mask, types):
    self.assertAllEqual(actual['input_word_ids'], words)
    self.assertAllEqual(actual['input_mask'], mask)
    self.assertAllEqual(actual['input_type_ids'], types)

  @parameterized.product(at_most=(9, 30), has_titles=(True, False))
  def test_titles_come_between_query_and_block(self, at_most, has_titles):
    rng = np.random.default_rng(3)
    first = _random_ids(rng, 5, 4)
    titles, second = (
      _random_ids(rng, 10, width).reshape([5, 2, width]) for width in (3, 6)
    )
    packed = joining.pack_pairs(
      tf.constant(first),
      tf.constant(second),
      _CLS,
      _SEP,
      at_most,
      tf.constant(titles) if has_titles else None,
    )
    length = min(at_most, 4 + 6 + 3 + (1 + 3 if has_titles else 0))
    for b, k in np.ndindex(5, 2):
      words = [i for i in first[b] if i]
      if has_titles:
        words += [_SEP, *(i for i in titles[b, k] if i)]
      expected = _plain(words, second[b, k], length)
      for name, values in zip(_NAMES, expected, strict=True):
        self.assertAllEqual(packed[name][b, k], values)

  def test_two_texts(self):
    # Row 1 is the null block.
    self._assert_packed(
      _pack(tf.constant([[7, 8], [0, 0]]), tf.constant([[9, 0], [0, 0]]), 7),
      [[_CLS, 7, 8, _SEP, 9, _SEP, 0], [_CLS, _SEP, _SEP, 0, 0, 0, 0]],
      [[1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0]],
      [[0, 0, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0, 0]],
    )

  @parameterized.product(
    length=(3, 9, 16), widths=((5, None), (1, 7), (12, 3), (6, 6), (20, 20))
  )
  def test_agrees_with_plain_python(self, length, widths):
    rng = np.random.default_rng([length, widths[0]])
    first = _random_ids(rng, 200, widths[0])
    second = widths[1] and _random_ids(rng, 200, widths[1])
    expected = [
      _plain(first[i], None if second is None else second[i], length)
      for i in range(200)
    ]
    expected = [list(column) for column in zip(*expected)]

    first = tf.constant(first)
    second = None if second is None else tf.constant(second)
    self._assert_packed(_pack(first, second, length), *expected)
    compiled = tf.function(
      lambda: _pack(first, second, length), jit_compile=True
    )
    self._assert_packed(compiled(), *expected)

    arrays = (first,) if second is None else (first, second)
    rows = tf.data.Dataset.from_tensor_slices(arrays).map(
      lambda a, b=None: _pack(a, b, length)
    )
    self._assert_packed(next(iter(rows.batch(200))), *expected)


class PackPairsTest(tf.test.TestCase):
  def test_sizes_may_be_unknown(self):
    rng = np.random.default_rng(0)
    ids, blocks = (tf.TensorSpec([None] * rank, tf.int32) for rank in (2, 3))
    pack = lambda *args: joining.pack_pairs(
      *args[:2], _CLS, _SEP, at_most=9, titles=args[2]
    )
    graph = tf.function(pack, input_signature=[ids, blocks, blocks])
    for size in (1, 3, 6):  # The last is cut.
      args = (
        _random_ids(rng, 2, size),
        _random_ids(rng, 6, 2 * size).reshape(2, 3, -1),
        _random_ids(rng, 6, 2).reshape(2, 3, 2),
      )
      expected = pack(*map(tf.constant, args))
      packed = graph(*args)
      for name in _NAMES:
        self.assertAllEqual(packed[name], expected[name])
        self.assertAllEqual(expected[name].shape, (2, 3, min(9, 6 + 3 * size)))


class PackLongestTest(tf.test.TestCase):
  def test_length_follows_the_widths_up_to_a_bound(self):
    ids = tf.constant([[7, 8, 9]])
    unbounded = joining.pack_longest(ids, None, _CLS, _SEP)
    self.assertAllEqual(unbounded['input_word_ids'], [[_CLS, 7, 8, 9, _SEP]])
    bounded = joining.pack_longest(ids, ids, _CLS, _SEP, at_most=7)
    self.assertAllEqual(
      bounded['input_word_ids'], [[_CLS, 7, 8, 9, _SEP, 7, _SEP]]
    )


if __name__ == '__main__':
  tf.test.main()
