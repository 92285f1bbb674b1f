"""Reads texts of a .npy file of Python objects without running any code.

Such a file is a pickle: a program that may name any function and call it. This
reader knows the few instructions that NumPy writes for an array of bytes. It
looks up and calls nothing, and refuses any other instruction.

  instruction by instruction -> [this file] -> one text after the other
"""

import array
from collections.abc import Iterator
import pickletools
from typing import Any, BinaryIO

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.records import npy_files

_RECONSTRUCT = 'numpy array'
_NAMES = {
  ('numpy.core.multiarray', '_reconstruct'): _RECONSTRUCT,
  ('numpy._core.multiarray', '_reconstruct'): _RECONSTRUCT,
  ('numpy', 'ndarray'): 'ndarray',
  ('numpy', 'dtype'): 'dtype',
}
_CONSTANTS = {
  'NONE': None,
  'NEWTRUE': True,
  'NEWFALSE': False,
  'EMPTY_TUPLE': (),
}
_NUMBERS = ('BININT', 'BININT1', 'BININT2', 'LONG1')
_STRINGS = ('BINUNICODE', 'SHORT_BINUNICODE', 'BINUNICODE8')
_BYTES = ('SHORT_BINBYTES', 'BINBYTES', 'BINBYTES8')
_TUPLES = {'TUPLE1': 1, 'TUPLE2': 2, 'TUPLE3': 3}
_MARK = object()
# An array repeats a text that is the same object. Repeated ones are at most so
# many times the file, or so many bytes: a small file must not fill the memory.
_MOST_REPEATED = 4
_ALWAYS_REPEATED_BYTES = 64 << 20
_MAX_STACK = 5000  # The pickler hands over lists a thousand items at a time.


class _Refused(ValueError):
  """The file is not an array of bytes."""


class _Text:
  """A text and its position in the file."""

  def __init__(self, value: bytes, position: int):
    self.value, self.position = value, position


class _List:
  """The list of an array's items, which were yielded already."""

  def __init__(self):
    self.length = 0


class _Array:
  """Placeholder of an array or a dtype."""

  def __init__(self, kind: str, state: Any = None):
    self.kind, self.state = kind, state


def read_texts(path: str) -> Iterator[bytes]:
  """Yields the items of an array of N bytes objects, in order.

  Raises:
    UserError: It holds anything else, or ends too soon; this may come after
      some texts.
  """
  input_files.check(path)
  size = tf.io.gfile.stat(path).length
  with open(path, 'rb') as file:
    try:
      shape = _read_shape(file, size)
      count = 0
      most = max(_MOST_REPEATED * size, _ALWAYS_REPEATED_BYTES)
      for text in _Machine(file, shape, most).run():
        count += 1
        if count > shape[0]:
          raise _Refused(f'more texts than the {shape[0]} of its shape')
        yield text
      if count != shape[0]:
        raise _Refused(f'{count} texts and shape {shape}')
    except (ValueError, MemoryError, OverflowError) as error:
      raise errors.UserError(
        f'{path} must be an array of texts, as NumPy writes one. Found: '
        f'{error}. It is a pickle and is read without running it; give the '
        "release's blocks.tfr as --blocks instead."
      ) from error


def _read_shape(file: BinaryIO, size: int) -> tuple[int, ...]:
  type_name, shape, _ = npy_files.read_header(file)
  # A text takes two bytes at least: a repetition of one before it.
  if type_name != '|O' or len(shape) != 1 or 2 * shape[0] > size:
    raise _Refused(f'shape {shape} and type {type_name} in {size} bytes')
  return shape


class _Machine:
  """Follows the instructions, with plain values only."""

  def __init__(
    self, file: BinaryIO, shape: tuple[int, ...], most_repeated: int
  ):
    self._file = file
    self._left_to_repeat = most_repeated
    self._shape = shape
    self._stack: list[Any] = []
    self._memo: dict[int, Any] = {}
    # Texts are remembered by their place: a file has millions.
    self._places = array.array('q')

  def run(self) -> Iterator[bytes]:
    """Yields texts as they are put into the array's list."""
    for opcode, argument, position in pickletools.genops(self._file):
      if len(self._stack) > _MAX_STACK:
        raise _Refused('more at once than NumPy writes')
      if opcode.name in ('APPEND', 'APPENDS'):
        yield from self._append(opcode.name)
      elif opcode.name == 'STOP':
        self._check_result()
        return
      else:
        self._step(opcode.name, argument, position)

  def _step(self, name, argument, position):
    stack = self._stack
    if name in ('PROTO', 'FRAME'):
      return
    if name == 'MARK':
      stack.append(_MARK)
    elif name in _CONSTANTS:
      stack.append(_CONSTANTS[name])
    elif name in _NUMBERS + _STRINGS:
      stack.append(argument)
    elif name in _BYTES:
      stack.append(_Text(argument, position))
    elif name == 'EMPTY_LIST':
      stack.append(_List())
    elif name in _TUPLES:
      stack.append(tuple(self._pop(_TUPLES[name])))
    elif name == 'TUPLE':
      stack.append(tuple(self._pop_to_mark()))
    elif name in ('GLOBAL', 'STACK_GLOBAL'):
      stack.append(self._name(name, argument))
    elif name in ('REDUCE', 'BUILD'):
      self._make(name)
    elif name in ('MEMOIZE', 'BINPUT', 'LONG_BINPUT'):
      self._remember(len(self._places) if name == 'MEMOIZE' else argument)
    elif name in ('BINGET', 'LONG_BINGET'):
      stack.append(self._recall(argument))
    else:
      raise _Refused(f'the instruction {name}')

  def _append(self, name):
    """Hands on the texts that an instruction puts into the list."""
    items = self._pop_to_mark() if name == 'APPENDS' else self._pop(1)
    goal = self._pop(1)[0]
    if not isinstance(goal, _List):
      raise _Refused('items for something that is no list')
    self._stack.append(goal)
    goal.length += len(items)
    for item in items:
      if not isinstance(item, _Text):
        raise _Refused(f'an item that is no text: {type(item).__name__}')
      yield item.value

  def _name(self, name, argument):
    """Returns the placeholder of a function or type."""
    if name == 'GLOBAL':
      found = tuple(argument.split(' ', 1))
    else:
      found = tuple(self._pop(2))
    if found not in _NAMES:
      raise _Refused(f'the name {".".join(map(str, found))[:80]}')
    return _Array(_NAMES[found])

  def _make(self, name):
    """Follows a call of one of the names, or the setting of a state."""
    made, argument = self._pop(2)
    if not isinstance(made, _Array) or not isinstance(argument, tuple):
      raise _Refused(f'{name} of something else')
    if name == 'BUILD' and made.kind == _RECONSTRUCT:
      made.state = argument
    self._stack.append(made)

  def _check_result(self):
    (result,) = self._pop(1)
    state = getattr(result, 'state', None)
    if self._stack or not state or len(state) != 5:
      raise _Refused('no array at the end')
    if state[1] != self._shape or not isinstance(state[4], _List):
      raise _Refused(f'an array of shape {state[1]}, not {self._shape}')

  def _remember(self, index):
    (value,) = self._stack[-1:] or [_MARK]
    if index > len(self._places) or value is _MARK:
      raise _Refused('a note of nothing')
    if index == len(self._places):
      self._places.append(-1)
    if isinstance(value, _Text):
      self._places[index] = value.position
    else:
      self._places[index] = -1
      self._memo[index] = value

  def _recall(self, index):
    if index >= len(self._places):
      raise _Refused('a note that was not taken')
    position = self._places[index]
    if position < 0:
      return self._memo[index]
    behind = self._file.tell()
    self._file.seek(position)
    _, value, _ = next(pickletools.genops(self._file))
    self._file.seek(behind)
    self._left_to_repeat -= len(value)
    if self._left_to_repeat < 0:
      raise _Refused('texts that unfold to many times the file')
    return _Text(value, position)

  def _pop(self, count):
    values = self._stack[-count:]
    if len(values) < count or any(value is _MARK for value in values):
      raise _Refused('too little on the stack')
    del self._stack[-count:]
    return values

  def _pop_to_mark(self):
    for i in range(len(self._stack) - 1, -1, -1):
      if self._stack[i] is _MARK:
        values = self._stack[i + 1 :]
        del self._stack[i:]
        return values
    raise _Refused('no mark on the stack')
