"""Tests for bin.launcher and, through a process of its own, bin.make_blocks."""

import ctypes
import json
import os
import subprocess
import sys
import unittest

from absl.testing import absltest

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_VOCABULARY = ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', 'a', 'b', '.')
_FREEZES = """import gc
from bin import launcher
launcher.run(lambda _: print(gc.get_freeze_count() > 100_000))"""

# Prints the C library's account of its arenas once many threads have asked.
_ARENAS = """import ctypes, threading
from bin import evaluate
libc = ctypes.CDLL(None)
for _ in range(8):
  thread = threading.Thread(target=libc.malloc, args=[1000])
  thread.start()
  thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, 'stdout'))
libc.fflush(None)"""


def _python(*arguments):
  return subprocess.run(
    [sys.executable, *arguments],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    check=False,
  )


class MakeBlocksTest(absltest.TestCase):
  def _run(self, *flags):
    return _python('-m', 'bin.make_blocks', *flags)

  def test_writes_a_corpus_or_explains_a_broken_line(self):
    directory = self.create_tempdir().full_path
    articles = os.path.join(directory, 'a.jsonl')
    vocabulary = os.path.join(directory, 'vocab.txt')
    with open(vocabulary, 'w') as file:
      file.write('\n'.join(_VOCABULARY))
    with open(articles, 'w') as file:
      file.write('{"title": "A", "text": "A b. B."}\n')
    flags = (
      f'--input={articles}',
      f'--vocab_file={vocabulary}',
      f'--output_dir={directory}/corpus',
    )

    good = self._run(*flags)
    with open(articles, 'a') as file:
      file.write('broken\n')
    bad = self._run(*flags, '--overwrite')

    self.assertEqual((good.returncode, good.stderr), (0, ''))
    self.assertEqual(bad.returncode, 2)
    self.assertRegex(bad.stderr, rf'^ERROR: {articles}:2 must be .*\n$')
    # The mistake left the old corpus as it was.
    with open(os.path.join(directory, 'corpus', 'manifest.json')) as file:
      self.assertEqual(json.load(file)['num_blocks'], 1)

  def test_wrong_flag_is_one_line(self):
    result = self._run('--max_block_wordpieces=many')
    self.assertEqual(result.returncode, 2)
    self.assertRegex(result.stderr, '^ERROR: .*max_block_wordpieces=many.*\n$')

  def test_what_was_imported_is_no_garbage(self):
    self.assertEqual(_python('-c', _FREEZES).stdout, 'True\n')

  @unittest.skipUnless(hasattr(ctypes.CDLL(None), 'malloc_info'), 'No glibc')
  def test_threads_share_the_memory_that_is_kept(self):
    result = _python('-c', _ARENAS)
    self.assertEqual(result.stdout.count('<heap nr='), 1)
    self.assertEqual(result.stderr, '')  # TensorFlow's logs are quiet, too.


if __name__ == '__main__':
  absltest.main()
