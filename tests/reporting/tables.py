"""Reads the tables of a page's tree, so that tests can compare cells."""

from realm_tf.reporting import elements


def cells(tree: elements.Element) -> list[list[str]]:
  """Returns the text of each cell of each row, headings included."""
  return [[''.join(cell.itertext()) for cell in row] for row in tree.iter('tr')]
