"""Configs -> tables: first the fields that differ from defaults or by run."""

from collections.abc import Mapping, Sequence
from typing import Any

from realm_tf.reporting import elements
from realm_tf.reporting import run_reader

element = elements.element

_NO_FIELD = '–'


def build(
  runs: Sequence[run_reader.Run], defaults: Mapping[str, Any]
) -> list[elements.Element]:
  """Returns a table of changed fields, and a folded table of the others."""
  # Fields have the order of the defaults; fields without a default come last.
  names = [
    name
    for name in {**defaults, **{n: 0 for run in runs for n in run.config}}
    if any(name in run.config for run in runs)
  ]
  changed = [
    name
    for name in names
    if any(name in r.config and _differs(r, name, defaults) for r in runs)
  ]
  rest = [name for name in names if name not in changed]
  return [
    _table(changed, runs, defaults)
    if changed
    else element('p', 'All fields have their defaults.'),
    element(
      'details',
      element('summary', f'{len(rest)} fields with their defaults'),
      _table(rest, runs, defaults),
    ),
  ]


def _table(
  names: Sequence[str],
  runs: Sequence[run_reader.Run],
  defaults: Mapping[str, Any],
) -> elements.Element:
  rows = []
  for name in names:
    values = [run.config.get(name, _NO_FIELD) for run in runs]
    unlike = len({repr(value) for value in values}) > 1
    tag = 'mark' if unlike else 'span'
    rows.append(
      [
        element('code', name),
        *(element(tag, _text(value)) for value in values),
        _text(defaults.get(name, _NO_FIELD)),
      ]
    )
  headings = ['field', *(run.name for run in runs), 'default']
  return elements.table(headings, rows, 'numbers')


def _differs(
  run: run_reader.Run, name: str, defaults: Mapping[str, Any]
) -> bool:
  return name not in defaults or run.config[name] != defaults[name]


def _text(value: Any) -> str:
  """Returns a value in the spelling of --set."""
  if value is None:
    return 'none'
  return str(value).lower() if isinstance(value, bool) else str(value)
