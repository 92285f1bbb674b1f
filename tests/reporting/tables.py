"""Reads the tables of a page's tree."""

from realm_tf.reporting import elements


def cells(tree: elements.Element) -> list[list[str]]:
  """Returns the texts of all cells by row, with headings."""
  return [[''.join(cell.itertext()) for cell in row] for row in tree.iter('tr')]
