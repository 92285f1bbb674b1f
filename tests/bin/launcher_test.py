"""Tests for bin.launcher and the console commands that setup.py installs."""

import ctypes
import os
import runpy
import subprocess
import sys
import unittest
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import setuptools

from tests import source_tree

_COMMAND = """
import sys
from bin import launcher
sys.argv = ['/usr/bin/realm-make-blocks', '--help']
launcher.console()
"""
# Calls two binaries in a fork each: one with a mistake, one that raises.
_CALLS = """import os, types
from bin import launcher, modules
from realm_tf import demo
def broken(*_):
  raise ValueError('A fault.')
demo.texts = types.SimpleNamespace(unpack=broken)
modules.load = lambda: None  # TensorFlow takes seconds.
for more in ['--set=no_such=1'], []:
  if not os.fork():
    os._exit(launcher.call('unpack_demo', ['--output_dir=x', *more]))
  print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)"""
_FREEZES = """import gc
from bin import launcher
launcher.run(lambda _: print(gc.get_freeze_count() > 10_000))"""
# Kills itself when a process of its pool has begun.
_KILLED = """import multiprocessing, os
from concurrent import futures
from realm_tf import process
spawn = multiprocessing.get_context('spawn')
pool = futures.ProcessPoolExecutor(1, spawn, process.end_with_parent)
os.kill(pool.submit(os.getppid).result(), 9)"""
# Programs that run into a closed stream, a narrow locale or Ctrl-C.
_RUN = """import multiprocessing, os, sys, signal
from realm_tf import process
sys.argv[0] = '-m'
# A test in a shell's background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
process.leave_if_interrupted()
def interrupt():
  os.kill(os.getpid(), signal.SIGINT)
  signal.sigtimedwait([signal.SIGTERM], 9)
def fail():
  try:
    interrupt()
  except KeyboardInterrupt as error:
    raise SystemError('bad argument') from error
def fork_from_interrupted_server():
  with open('slow.py', 'w') as file:
    file.write('import os, signal; os.kill(os.getpid(), signal.SIGINT)')
  process.start_server(['slow'])
  child = multiprocessing.get_context('forkserver').Process(target=print)
  child.start()
  child.join()
def close_pipe():
  reader, writer = os.pipe()
  os.dup2(writer, 1)
  os.close(reader)
def log_on_full_disk():
  try:
    logging.info("a")
  except OSError:
    print('The disk is full.')
BEFORE
from bin import launcher
from absl import logging
def main(_):
  MAIN
sys.argv[0] = 'x'
launcher.run(main)"""
# Name -> before loading, in main; code, stdout, stderr; maybe its environment.
_BEGINNINGS = {
  'interrupted_while_loading': ('interrupt()', '', 130, '', 'Interrupted.'),
  'interrupted': ('', 'interrupt()', 130, '', 'Interrupted.'),
  'interrupted_in_a_library': ('', 'fail()', 130, '', 'Interrupted.'),
  'interrupted_server': ('', 'fork_from_interrupted_server()', 0, '', ''),
  'no_temporary_folder': (
    'import tempfile; tempfile._candidate_tempdir_list = list',
    'print("a")',
    2,
    '',
    'ERROR: A folder for temporary files must be writable. Found: No usable '
    'temporary directory found in []. Set TMPDIR to another.',
  ),
  'generated_code': (
    'open("m.py", "w").close()',
    'import m; print(os.listdir())',
    0,
    "['m.py']",
    '',
  ),
  'unread_print': ('close_pipe()', 'print("a")', 141, '', ''),
  'unread_log': ('close_pipe()', 'logging.info("a")', 141, '', ''),
  'unread_no_full_disk': ('close_pipe()', 'log_on_full_disk()', 141, '', ''),
  'closed': ('os.close(1)', 'print("a"); logging.info("a")', 0, '', ''),
  'ascii': ('', 'print(chr(233))', 0, 'é', '', {'PYTHONIOENCODING': 'ascii'}),
  'locale': (
    '',
    'print(open(chr(233), "w").write(chr(233)))',
    0,
    '1',
    '',
    {'LC_ALL': 'C', 'PYTHONCOERCECLOCALE': '0', 'PYTHONUTF8': '0'},
  ),
}
_AT_HOME = """import os, sys
from absl import flags
from bin import launcher
sys.argv.append('--log_dir=~/a')
home = os.path.expanduser('~/a')
launcher.run(lambda _: print(flags.FLAGS.log_dir == home))"""

# Prints the C library's list of arenas after several threads have allocated.
_ARENAS = """import ctypes, threading
from bin import evaluate
libc = ctypes.CDLL(None)
for _ in range(8):
  thread = threading.Thread(target=libc.malloc, args=[1000])
  thread.start()
  thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, 'stdout'))
libc.fflush(None)"""


def _python(program):
  return subprocess.run(
    [sys.executable, '-c', program],
    cwd=source_tree.ROOT,
    capture_output=True,
    text=True,
    check=False,
  )


def _setup_arguments():
  with mock.patch.object(setuptools, 'setup') as setup:
    runpy.run_path(str(source_tree.ROOT / 'setup.py'))
  return setup.call_args.kwargs


class ConsoleTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (name, *case) for name, case in _BEGINNINGS.items()
  )
  def test_begins_and_ends_with_a_line(
    self, before, main, code, out, err, more=()
  ):
    folder = self.create_tempdir().full_path
    program = _RUN.replace('BEFORE', before).replace('MAIN', main or 'pass')
    done = subprocess.run(
      [sys.executable, '-c', f'import os; os.chdir({folder!r})\n{program}'],
      env={**os.environ, **dict(more), 'PYTHONPATH': str(source_tree.ROOT)},
      capture_output=True,
      check=False,
    )
    streams = (text.decode().strip() for text in (done.stdout, done.stderr))
    self.assertEqual((done.returncode, *streams), (code, out, err))

  def test_a_process_of_a_pool_ends_with_a_killed_parent(self):
    command = [sys.executable, '-c', _KILLED]
    result = subprocess.run(  # It has the output: the call awaits its end.
      command, cwd=source_tree.ROOT, capture_output=True, timeout=60
    )
    self.assertEqual(result.returncode, -9)

  def test_a_flag_may_begin_with_the_home_directory(self):
    self.assertEqual(_python(_AT_HOME).stdout, 'True\n')

  def test_every_binary_and_recipe_has_a_command(self):
    arguments = _setup_arguments()
    self.assertCountEqual(
      arguments['entry_points']['console_scripts'],
      [
        f'realm-{name.replace("_", "-")} = realm_tf.bin.launcher:console'
        for name in source_tree.binaries()
      ]
      + [
        f'realm-{path.stem.replace("_", "-")} = '
        f'realm_tf.launch.{path.stem}:main'
        for path in source_tree.ROOT.glob('launch/*.py')
        if 'def main():' in path.read_text()
      ],
    )
    for package in arguments['packages']:
      folder = arguments['package_dir'].get(package, package.replace('.', '/'))
      self.assertTrue((source_tree.ROOT / folder / '__init__.py').exists())

  def test_every_data_file_is_installed(self):
    installed = [
      path
      for package, patterns in _setup_arguments()['package_data'].items()
      for pattern in patterns
      for path in (source_tree.ROOT / package.replace('.', '/')).glob(pattern)
    ]
    self.assertCountEqual(
      installed,
      [
        path
        for path in (source_tree.ROOT / 'realm_tf').rglob('*')
        if path.is_file() and path.suffix not in ('.py', '.pyc')
      ],
    )

  def test_a_command_runs_the_binary_of_the_same_name(self):
    help_text = _python(_COMMAND).stdout
    self.assertIn('Cuts articles into blocks', help_text)
    # The help has the flags of the shared modules, too.
    for flag in ('input', 'output_dir', 'vocab_file', 'runner', 'set', 'seed'):
      self.assertIn(f'\n  --{flag}: ', help_text)


class LauncherTest(absltest.TestCase):
  def test_a_call_returns_the_exit_code(self):
    result = _python(_CALLS)
    self.assertEqual(result.stdout, '2\n1\n')
    self.assertRegex(result.stderr, '^ERROR: .*no_such.*\nTraceback')
    self.assertEndsWith(result.stderr, 'ValueError: A fault.\n')

  def test_imported_modules_are_not_collected(self):
    self.assertEqual(_python(_FREEZES).stdout, 'True\n')

  @unittest.skipUnless(hasattr(ctypes.CDLL(None), 'malloc_info'), 'No glibc')
  def test_threads_share_one_arena(self):
    result = _python(_ARENAS)
    self.assertEqual(result.stdout.count('<heap nr='), 1)
    self.assertEqual(result.stderr, '')  # TensorFlow's logs are quiet, too.


if __name__ == '__main__':
  absltest.main()
