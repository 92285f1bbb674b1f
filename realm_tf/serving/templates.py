"""Fills the templates in report_static/; Jinja2 escapes all text."""

import math
import pathlib
from typing import Any, Optional

import jinja2

_TEMPLATES = jinja2.Environment(
  loader=jinja2.FileSystemLoader(
    pathlib.Path(__file__).parent / 'report_static'
  ),
  autoescape=True,
  trim_blocks=True,
  lstrip_blocks=True,
  undefined=jinja2.StrictUndefined,
)


def fill(name: str, **values: Any) -> str:
  """Returns the page of a template."""
  return _TEMPLATES.get_template(name).render(values)


def number(value: Any) -> Any:
  """Returns numbers with about four digits, an interval's ends, or text."""
  if isinstance(value, list):
    return ' to '.join(map(number, value))
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return value
  if isinstance(value, int):
    text = f'{value:,}'
  elif math.isfinite(value) and abs(value) >= 1000:
    text = f'{value:,.0f}'
  else:
    text = f'{value:.4g}'
  return text.replace('-', '\N{MINUS SIGN}')


def _probability(value: float) -> str:
  """Returns three decimals; below 0.001, the order of magnitude."""
  text = f'{value:.3f}' if value >= 0.001 or not value else f'{value:.0e}'
  return text.replace('-', '\N{MINUS SIGN}')


def _signed(value: Optional[float]) -> str:
  """Returns two decimals after + or −."""
  text = '–' if value is None else f'{value:+.2f}'
  return text.replace('-', '\N{MINUS SIGN}')


_TEMPLATES.filters |= {
  'number': number,
  'probability': _probability,
  'signed': _signed,
}
