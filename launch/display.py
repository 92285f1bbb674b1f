"""One moving line on a terminal; a line per stage elsewhere."""

from collections.abc import Mapping
import os
import re
import shutil
import sys
import time

import tqdm

_BAR = re.compile(rb'(\d+)%\|')
_TAIL_BYTES = 4096


class Display:
  """Stages done, running and waiting, and the time."""

  def __init__(self, num_stages: int):
    self._num_stages = num_stages
    self._begun = time.monotonic()
    self._line = None
    if sys.stdout.isatty():
      self._line = tqdm.tqdm(bar_format='{desc}', file=sys.stdout, leave=False)

  def update(
    self, logs: Mapping[str, str], num_waiting: int, remaining_secs: float
  ) -> None:
    """Moves the line; `logs` are the running stages' logs, by name."""
    if self._line is None:
      return
    running = ', '.join(f'{name}{_percent(log)}' for name, log in logs.items())
    done = self._num_stages - num_waiting - len(logs)
    text = (
      f'{done} of {self._num_stages} done | {running} | {num_waiting} waiting '
      f'| {clock(time.monotonic() - self._begun)}, about '
      f'{clock(remaining_secs)} more'
    )
    width = shutil.get_terminal_size().columns - 1
    self._line.set_description_str(text[:width])

  def end(self, name: str, seconds: float) -> None:
    """Notes the end of a stage."""
    if self._line is None:
      say(f'[{name}] {seconds:.0f} s')

  def close(self) -> None:
    """Removes the line."""
    if self._line is not None:
      self._line.close()


def say(text: str) -> None:
  """Prints `text` above the line."""
  tqdm.tqdm.write(text)
  sys.stdout.flush()


def clock(seconds: float) -> str:
  """Returns 'M:SS', or 'H:MM:SS'."""
  minutes, secs = divmod(round(max(seconds, 0.0)), 60)
  hours, minutes = divmod(minutes, 60)
  return f'{hours}:{minutes:02}:{secs:02}' if hours else f'{minutes}:{secs:02}'


def _percent(log: str) -> str:
  """Returns the percent of the last progress bar in a log, or ''."""
  try:
    with open(log, 'rb') as file:
      file.seek(max(0, os.path.getsize(log) - _TAIL_BYTES))
      bars = _BAR.findall(file.read())
  except OSError:
    return ''
  return f' {int(bars[-1])} %' if bars else ''
