r"""Writes a training run as one self-contained HTML page.

  python -m bin.report --run_dir=runs/pretrain
  python -m bin.report --run_dir=runs/qa --run_dir=runs/qa_bm25 \
      --eval_dir=runs/eval/qa --output=both.html
  python -m bin.report --run_dir=runs/qa --results=runs/results.json

The page shows the curves and last values of metrics.jsonl, evaluations, masked
sentences with their candidates, and the config. Several runs share each plot.
The runs may be unfinished.
"""

import os

from . import launcher

from absl import flags
import tensorflow as tf

from realm_tf import errors
from realm_tf.reporting import page
from realm_tf.reporting import run_reader

_RUN_DIR = flags.DEFINE_multi_string(
  'run_dir', None, 'Run directory of a trainer', required=True
)
_EVAL_DIR = flags.DEFINE_multi_string(
  'eval_dir', [], '--output_dir of bin.evaluate outside --run_dir'
)
_RESULTS = flags.DEFINE_multi_string(
  'results', [], 'Table of systems: --output of bin.results_table'
)
_OUTPUT = flags.DEFINE_string(
  'output', None, 'File to write; by default report.html of the first run.'
)


def main(_):
  runs = run_reader.read(_RUN_DIR.value)
  evaluations = run_reader.evaluations(runs, _EVAL_DIR.value)
  # JSON may hold lone surrogates, which UTF-8 cannot encode.
  data = page.build(
    runs, evaluations, run_reader.results(_RESULTS.value)
  ).encode('utf-8', 'replace')
  path = _OUTPUT.value or os.path.join(_RUN_DIR.value[0], 'report.html')
  try:
    with tf.io.gfile.GFile(path, 'wb') as file:
      file.write(data)
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'--output must be a file that can be written. Found for {path}: '
      f'{error.message}. Give another.'
    ) from error
  print(f'Wrote {path}.')


if __name__ == '__main__':
  launcher.run(main)
