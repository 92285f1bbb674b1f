"""Writes numbers for the world's texts, rounded to few wordpieces."""


def rounded_count(value: float) -> str:
  """Writes a count: 456123 -> '456 thousand', 12345678 -> '12 million'."""
  if value <= 0:
    raise ValueError(f'`value` must be positive. Got {value!r}.')
  for unit, name in ((10**6, 'million'), (10**3, 'thousand')):
    if value >= 10 * unit:
      return f'{value / unit:.0f} {name}'
  return f'{value:.0f}' if value >= 1 else f'{value:.1g}'


def kilometres(value: float) -> str:
  """Writes a distance without its unit: 12.34 -> '12', 1234.5 -> '1234'."""
  return f'{max(value, 1):.0f}'


def latitude(degrees: float) -> str:
  """Writes a latitude: -33.87 -> '34 degrees south'."""
  return f'{abs(degrees):.0f} degrees {"north" if degrees >= 0 else "south"}'
