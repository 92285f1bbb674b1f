"""Numbers as the world's texts write them: few wordpieces, honestly rounded."""

import math


def three_digits(value: float) -> float:
  """Rounds a positive number to three significant digits: 15853 -> 15900."""
  if value <= 0:
    raise ValueError(f'`value` must be positive. Got {value!r}.')
  return round(value, 2 - math.floor(math.log10(value)))


def rounded_count(value: float) -> str:
  """Writes a count: 456123 -> '456,000', 1234567 -> '1.23 million'."""
  rounded = three_digits(value)
  for unit, name in ((1e9, 'billion'), (1e6, 'million')):
    if rounded >= unit:
      return f'{rounded / unit:.3g} {name}'
  return f'{rounded:,.0f}' if rounded >= 100 else f'{rounded:.3g}'


def kilometres(value: float) -> str:
  """Writes a distance without its unit: 12.34 -> '12.3', 1234.5 -> '1,234'."""
  return f'{value:.1f}' if value < 100 else f'{value:,.0f}'


def latitude(degrees: float) -> str:
  """Writes a latitude: -33.87 -> '33.9 degrees south'."""
  return f'{abs(degrees):.1f} degrees {"north" if degrees >= 0 else "south"}'
