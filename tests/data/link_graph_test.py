"""Tests for realm_tf.data.link_graph."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.data import link_graph

_LINKS = {'links': {'kind': 'titles', 'number': 4}}


def _graph():
  """Returns 0 -> 1, 3; 1 -> 0; 2 -> nothing; 3 -> 1."""
  origins, targets = np.array([[0, 3], [3, 1], [0, 1], [0, 3], [1, 0]]).T
  return link_graph.LinkGraph.from_edges(origins, targets, 4)


class LinkGraphTest(absltest.TestCase):
  def test_edges_are_sorted_and_kept_once(self):
    graph = _graph()
    self.assertEqual(graph.targets.tolist(), [1, 3, 0, 1])
    self.assertEqual(graph.offsets.tolist(), [0, 2, 3, 3, 4])
    self.assertEqual(graph.targets.dtype, np.int32)
    self.assertEqual(graph.offsets.dtype, np.int64)

  def test_negative_targets_and_loops_are_left_out(self):
    origins, targets = np.array([0, 0, 1]), np.array([-1, 0, 0])
    graph = link_graph.LinkGraph.from_edges(origins, targets, 2)
    self.assertEqual(graph.targets.tolist(), [0])
    self.assertEqual(graph.offsets.tolist(), [0, 0, 1])

  def test_transposed_reverses_all_links(self):
    back = _graph().transposed()
    self.assertEqual(back.targets.tolist(), [1, 0, 3, 0])
    self.assertEqual(back.offsets.tolist(), [0, 1, 3, 3, 4])

  def test_gather_joins_slices_end_to_end(self):
    starts, stops = np.array([7, 5, 0]), np.array([8, 5, 2])
    values, lengths = link_graph.gather(np.arange(9), starts, stops)
    self.assertEqual(values.tolist(), [7, 0, 1])
    self.assertEqual(lengths.tolist(), [1, 0, 2])
    values, lengths = link_graph.gather(values, starts[:0], stops[:0])
    self.assertEmpty(values)
    self.assertEmpty(lengths)

  def test_saved_is_opened_and_a_corpus_without_links_is_refused(self):
    directory = self.create_tempdir().full_path
    _graph().save(directory)
    graph = link_graph.LinkGraph.open(
      directory, {'links': {'kind': 'titles'}}, 4
    )
    self.assertEqual(graph.targets.tolist(), [1, 3, 0, 1])
    self.assertEqual(graph.offsets.tolist(), [0, 2, 3, 3, 4])
    with self.assertRaisesRegex(errors.UserError, '--links=markup'):
      link_graph.LinkGraph.open(directory, {}, 4)


if __name__ == '__main__':
  absltest.main()
