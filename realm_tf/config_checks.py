"""Checks of a config's values, made where it is built."""

from typing import Any


def check(condition: bool, must_hold: str, **found):
  """Raises ValueError with what must hold and what was found."""
  if not condition:
    values = ', '.join(f'{name}={value!r}' for name, value in found.items())
    raise ValueError(f'{must_hold} Got {values}.')


def check_positive(config: Any, *names: str):
  """Raises ValueError unless these fields of `config` are above 0."""
  for name in names:
    value = getattr(config, name)
    check(value > 0, f'`{name}` must be positive.', **{name: value})


def check_not_negative(config: Any, *names: str):
  """Raises ValueError unless these fields of `config` are at least 0."""
  for name in names:
    value = getattr(config, name)
    check(value >= 0, f'`{name}` must not be negative.', **{name: value})


def check_rates(config: Any, *names: str):
  """Raises ValueError unless these fields of `config` are in [0, 1]."""
  for name in names:
    value = getattr(config, name)
    check(0 <= value <= 1, f'`{name}` must be in [0, 1].', **{name: value})
