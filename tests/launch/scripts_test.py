"""Tests for launch/, without network or .venv."""

import os
import pathlib
import re
import subprocess

from absl.testing import absltest
from absl.testing import parameterized

from tests import source_tree

_SCRIPTS = sorted(path.name for path in source_tree.ROOT.glob('launch/*.sh'))
_TPU_DIRS = ('gs://bucket/run', 'gs://bucket/corpus', 'gs://bucket/queries')
# A fake cloud: a VM is a folder of $CLOUD/vms, and gs:// is $CLOUD.
_GCLOUD = r"""#!/usr/bin/env bash
echo "$*" | head -n 1 >>"$CLOUD/calls"
vm=$CLOUD/vms/$5
case "$1 $4 $2" in
  'compute describe tpus') cat "$vm/state" ;;
  'compute create tpus')
    mkdir -p "$vm/realm_tf/launch"
    echo READY >"$vm/state"
    touch "$vm/realm_tf/.installed"
    echo "PYTHON=$CLOUD/python" >"$vm/realm_tf/launch/environment.sh" ;;
  'compute delete tpus') rm -r "$vm" ;;
  'compute ssh tpus')
    for last; do :; done
    HOME=$vm bash -c "${last#--command=}" ;;
  storage*' ls') ls -d ${3/gs:\//$CLOUD} ;;
  storage*' cat') cat "${3/gs:\//$CLOUD}" ;;
  *) exit 1 ;;
esac
"""
_PYTHON = r"""#!/usr/bin/env bash
echo "$TPU_ACCELERATOR_TYPE TPU_LOAD_LIBRARY=${TPU_LOAD_LIBRARY:-} $*" \
  >>"$CLOUD/jobs"
run=$CLOUD/bucket/run
version=000000005/manifest.json
case $2 in
  bin.pretrain)
    if [ "${MISTAKE:-}" ]; then
      echo 'A line of the log.'
      echo "ERROR: $MISTAKE"
      exit 2
    fi
    mkdir -p "$run/params/000000005"
    touch "$run/params/$version" "$run/DONE" ;;
  bin.refresh_index)
    if [ -e "$run/params/$version" ]; then
      mkdir -p "$run/index/000000005"
      touch "$run/index/$version"
    fi ;;
esac
"""


def _run(script, *arguments, **variables):
  return subprocess.run(
    ['bash', f'launch/{script}', *arguments],
    cwd=source_tree.ROOT,
    env={**os.environ, **variables},
    capture_output=True,
    text=True,
    check=False,
    timeout=60,
  )


class LaunchTest(parameterized.TestCase):
  @parameterized.parameters(*_SCRIPTS)
  def test_bash_accepts_the_script(self, script):
    subprocess.run(
      ['bash', '-n', source_tree.ROOT / 'launch' / script]
    ).check_returncode()

  @parameterized.parameters(
    (['gs://only/one'], r'Three arguments must be given: .* Found 1\. See .*'),
    (['runs/realm', *_TPU_DIRS[1:]], r'.* Found runs/realm\. .*gs://\.'),
  )
  def test_a_mistake_is_one_line(self, arguments, message):
    done = _run('tpu_vm.sh', *arguments)
    self.assertEqual((done.returncode, done.stdout), (2, ''))
    self.assertRegex(done.stderr, rf'\A{message}\n\Z')


class TpuVmTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.cloud = pathlib.Path(self.create_tempdir().full_path)
    (self.cloud / 'vms').mkdir()
    self.bucket = self.cloud / 'bucket'
    (self.bucket / 'run').mkdir(parents=True)
    (self.bucket / 'run' / 'source.tar.gz').touch()
    for name, text in (('gcloud', _GCLOUD), ('python', _PYTHON)):
      (self.cloud / name).write_text(text)
      (self.cloud / name).chmod(0o755)

  def _launch(self, *flags, **variables):
    return _run(
      'tpu_vm.sh',
      *_TPU_DIRS,
      *flags,
      CLOUD=str(self.cloud),
      PATH=f'{self.cloud}:{os.environ["PATH"]}',
      POLL_SECS='0.05',
      **variables,
    )

  def _lines(self, name):
    return (self.cloud / name).read_text().splitlines()

  def _verbs(self, vm):
    """Returns the 'create' and 'delete' calls for a VM, in order."""
    return [
      line.split()[3]
      for line in self._lines('calls')
      if line.split()[4:5] == [vm] and line.split()[3] in ('create', 'delete')
    ]

  def test_dry_run_prints_all_commands_with_known_flags_and_runs_none(self):
    done = self._launch('--init_from=gs://bucket/ict', DRY_RUN='1')
    self.assertEqual((done.returncode, done.stderr), (0, ''))
    self.assertFalse((self.cloud / 'calls').exists())
    for expected in (
      'git archive',
      'create realm-refresh-1 .*=v3-8 --version=tpu-vm-tf-[0-9.]+-pjrt --spot',
      'create realm-train .*=v3-64 --version=tpu-vm-tf-[0-9.]+-pod-pjrt',
      'tensorflow-tpu==',
      '-m bin.refresh_index .*--worker=1 --num_workers=2',
      '-m bin.pretrain .*--resume .*--init_from=gs://bucket/ict',
      'delete realm-train',
    ):
      self.assertRegex(done.stdout, expected)
    shared = 'corpus_flags', 'model_flags', 'strategy_flags', 'training_flags'
    for binary in ('pretrain', 'refresh_index'):
      defined = ''.join(
        (source_tree.ROOT / 'bin' / f'{name}.py').read_text()
        for name in (binary, *shared)
      )
      (command, *_) = re.findall(rf'-m bin\.{binary} (.*)\|\|', done.stdout)
      names = re.findall(r'--(\w+)', command)
      self.assertGreater(len(names), 4)
      for name in names:
        self.assertIn(f"'{name}'", defined)

  def test_a_run_creates_and_deletes_its_vms(self):
    odd = "--init_from=it's a 'name'"
    done = self._launch(odd, NAME='mine')
    self.assertEqual((done.returncode, done.stderr), (0, ''))
    self.assertRegex(done.stdout, 'parameters 000000005, index 000000005')
    self.assertEmpty(os.listdir(self.cloud / 'vms'))
    for vm in ('mine-train', 'mine-refresh-0', 'mine-refresh-1'):
      self.assertEqual(self._verbs(vm), ['create', 'delete'])
    jobs = self._lines('jobs')
    run, corpus, queries = _TPU_DIRS
    self.assertIn(
      f'v3-64 TPU_LOAD_LIBRARY=0 -m bin.pretrain --run_dir={run} '
      f'--corpus_dir={corpus} --queries_dir={queries} --resume '
      f'--distribution_strategy=tpu --tpu=mine-train {odd}',
      jobs,
    )
    for worker in range(2):
      self.assertIn(
        f'v3-8 TPU_LOAD_LIBRARY= -m bin.refresh_index --run_dir={run} '
        f'--corpus_dir={corpus} --worker={worker} --num_workers=2 '
        '--distribution_strategy=tpu --tpu=local',
        jobs,
      )

  def test_a_preempted_vm_is_created_again(self):
    vm = self.cloud / 'vms' / 'realm-train'
    vm.mkdir()
    (vm / 'state').write_text('PREEMPTED\n')
    done = self._launch()
    self.assertEqual((done.returncode, done.stderr), (0, ''))
    self.assertEqual(self._verbs('realm-train'), ['delete', 'create', 'delete'])

  def test_a_mistake_ends_the_run_in_one_line_and_keeps_the_vms(self):
    done = self._launch(MISTAKE='There must be a corpus.')
    self.assertEqual(done.returncode, 2)
    line = 'ERROR: There must be a corpus. See job.log of realm-train.\n'
    self.assertEqual(done.stderr, line)
    self.assertLen(os.listdir(self.cloud / 'vms'), 3)


if __name__ == '__main__':
  absltest.main()
