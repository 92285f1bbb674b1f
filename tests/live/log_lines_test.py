"""Tests for realm_tf.live.log_lines."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.live import log_lines


def _contents(*ids):
  return [{'add': [], 'remove': [i]} for i in ids]


def _log(contents, num_kept=None):
  header, chain = log_lines.first('corpus')
  changes, chain = log_lines.chained(contents, chain)
  if num_kept is None:
    num_kept = len(changes)
  return [header, log_lines.kept(num_kept), *changes]


def _read(data):
  """Returns the removed ids, and the bytes up to the last change's end."""
  log = log_lines.read('log', data, 'corpus')
  return [content['remove'][0] for content in log.contents], log.num_bytes


class LogLinesTest(parameterized.TestCase):
  def test_written_changes_are_read_again(self):
    lines = _log(_contents('é', 'b'))
    data = b''.join(lines)
    log = log_lines.read('log', data, 'corpus')
    self.assertEqual(log.num_bytes, len(data))
    more, _ = log_lines.chained(_contents('c'), log.chain)
    self.assertEqual(more, _log(_contents('é', 'b', 'c'))[-1:])
    self.assertEqual(_read(data + more[0])[0], ['é', 'b', 'c'])

  @parameterized.parameters(
    b'{"add": [{',
    b'\n',
    b'\0' * 99 + b'\n',
    b'\xff\n{',
    b'[' * 200_000 + b'\n',
    _log(_contents('a', 'b', 'c'))[-1][:-1],  # A line without its end.
  )
  def test_bytes_after_the_last_acknowledged_change_are_dropped(self, tail):
    whole = b''.join(_log(_contents('a', 'b')))
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(_read(whole + tail), (['a', 'b'], len(whole)))
    self.assertIn(f'Dropped {len(tail)} bytes', logs.output[0])

  def test_a_damaged_last_change_is_lost_with_a_warning(self):
    lines = _log(_contents('a', 'b', 'c'))
    for part in (b'{', lines[-1][:-1], b'\0' * 99 + b'\n'):
      with self.assertLogs(level='WARNING') as logs:
        found, _ = _read(b''.join(lines[:-1]) + part)
      self.assertEqual(found, ['a', 'b'])
      self.assertIn('last acknowledged change is lost', logs.output[0])
      with self.assertRaisesRegex(errors.UserError, 'damage in line 4'):
        _read(b''.join(lines[:-2]) + part)

  def test_pages_of_one_write_can_be_lost_in_any_order(self):
    lines = _log(_contents('a', 'b', 'c'), num_kept=1)
    lines[3] = b'\0' * len(lines[3])
    self.assertEqual(_read(b''.join(lines))[0], ['a'])

  def test_every_flipped_bit_is_noticed(self):
    lines = _log(_contents('a', 'b'))
    whole = b''.join(lines)
    line_2 = range(len(lines[0]), len(lines[0] + lines[1]) - 1)
    for place in range(len(whole)):
      flipped = bytearray(whole)
      flipped[place] ^= 1
      is_last = place >= len(whole) - len(lines[-1])
      if place in line_2 or is_last:
        with self.assertLogs(level='WARNING') as logs:
          found, _ = _read(bytes(flipped))
        self.assertEqual(found, ['a'] if is_last else ['a', 'b'])
        self.assertIn('Line 4' if is_last else 'Line 2', logs.output[0])
      else:
        with self.assertRaises(errors.UserError):
          _read(bytes(flipped))

  @parameterized.named_parameters(
    ('removed', [0, 2, 3], 'must be change 2, .* Found change 3'),
    ('first_removed', [1, 2, 3], 'must be change 1, .* Found change 2'),
    ('exchanged', [0, 2, 1, 3], 'must be change 2, .* Found change 3'),
    ('twice', [0, 1, 1, 2, 3], 'must be change 3, .* Found change 2'),
    ('last_twice', [0, 1, 2, 3, 3], 'must be change 5, .* Found change 4'),
    ('one_cut_off', [0, 1, 2], 'must contain 4 changes. Found 3'),
    ('all_cut_off', [], 'must contain 4 changes. Found 0'),
  )
  def test_missing_and_moved_lines_are_refused(self, places, message):
    one, two, *changes = _log(_contents('a', 'b', 'c', 'd'))
    data = one + two + b''.join(changes[i] for i in places)
    with self.assertRaisesRegex(errors.UserError, message):
      _read(data)

  def test_a_line_of_another_log_is_refused(self):
    ours = _log(_contents('a', 'b', 'c'))
    ours[3] = _log(_contents('x', 'b', 'c'))[3]
    with self.assertRaisesRegex(errors.UserError, 'log:4 .*after change 1'):
      _read(b''.join(ours))

  @parameterized.parameters(
    b'My thesis.',
    b'My thesis.\nTwo.\n',
    b'\0' * 99,
    b'[' * 200_000 + b'\n',
    b'{"a": 1}\n',
    # A log of format 1.
    b'{"corpus_fingerprint": "corpus", "sha256": "06bfe1d72dd847ae"}\n',
    b''.join(_log([])).replace(b'\n', b'\r\n'),
  )
  def test_other_files_are_refused(self, data):
    with self.assertRaisesRegex(errors.UserError, 'must be a documents log'):
      _read(data)


if __name__ == '__main__':
  absltest.main()
