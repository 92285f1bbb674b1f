"""Numbers as people read them: few digits, and no exponents without need."""

import math
from typing import Any


def short(value: Any) -> str:
  """Returns a number with about four digits; anything else as it is."""
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return str(value)
  if isinstance(value, int):
    text = f'{value:,}'
  elif not math.isfinite(value):
    text = str(value)
  elif abs(value) >= 1000:
    text = f'{value:,.0f}'
  else:
    text = f'{value:.4g}'
  return text.replace('-', '\N{MINUS SIGN}')
