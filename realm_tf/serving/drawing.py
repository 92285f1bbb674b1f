"""Draws pictures with matplotlib, as SVG for a page or for a file.

A page gives the colors (report_static/colors.css), so that a picture suits
light and dark pages. A file has the colors of a light page.
"""

from collections.abc import Callable, Sequence
import io
import pathlib
import re

import markupsafe
from matplotlib import figure as figure_lib
from matplotlib import style

_STATIC = pathlib.Path(__file__).parent / 'report_static'
# Name on a page -> color on a light page, with which matplotlib draws.
_COLORS: dict[str, str] = {}
for _name, _color in re.findall(
  r'(--[\w-]+): (#\w+)', (_STATIC / 'colors.css').read_text()
):
  _COLORS.setdefault(_name, _color)
_NO_METADATA = dict.fromkeys(['Creator', 'Date', 'Format', 'Type'])
_FONTS = re.compile("'DejaVu Sans'[^;\"]*")
# Parts of matplotlib's file that have no place in a page: its style sheet, ids
# that all drawings have, and indentation.
_OWN_PARTS = re.compile(
  r'<defs>\s*<style.*?</defs>|(?<=<g) id="[^"]*"|(?<=>)\s+(?=<)', re.DOTALL
)
_HEAD = re.compile(r'.*?<svg [^>]*(viewBox="[^"]*")[^>]*>', re.DOTALL)


def draw(
  name: str,
  size: Sequence[float],
  paint: Callable[[figure_lib.Figure], None],
  in_page: bool = True,
) -> str:
  """Returns an <svg> of a figure.

  Args:
    name: Description for screen readers; unique on a page.
    size: Width and height in inches of 72 points.
    paint: Draws into the figure.
    in_page: Whether the picture is a part of a page, else a file.
  """
  # The salt makes ids unique on the page.
  settings = {'svg.hashsalt': name}
  with style.context(['default', _STATIC / 'picture.mplstyle', settings]):
    figure = figure_lib.Figure(figsize=tuple(size))
    paint(figure)
    file = io.StringIO()
    figure.savefig(
      file, format='svg', transparent=in_page, metadata=_NO_METADATA
    )
  text = _FONTS.sub('system-ui, sans-serif', file.getvalue())
  label = markupsafe.Markup('role="img" aria-label="{}"').format(name)
  if not in_page:
    return text.replace('<svg ', f'<svg {label} ', 1)
  text = _OWN_PARTS.sub('', text.replace('xlink:href', 'href'))
  for color, value in _COLORS.items():
    text = text.replace(value, f'var({color})')
  _, view, rest = _HEAD.split(text, maxsplit=1)
  return markupsafe.Markup(f'<svg class="picture" {label} {view}>{rest}')
