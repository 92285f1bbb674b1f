r"""Writes a training run as one self-contained HTML page.

  python -m bin.report --run_dir=runs/pretrain
  python -m bin.report --run_dir=runs/qa --run_dir=runs/qa_bm25 \
      --eval_dir=runs/eval/qa --output=both.html
  python -m bin.report --run_dir=runs/qa --results=runs/results.json

The page shows the comparison of systems, risk by coverage, how retrieval
utility and held-out recall grow, and masked sentences with their candidates.
TensorBoard shows all other metrics. The runs may be unfinished.
"""

import os

from . import launcher

from realm_tf import errors
from realm_tf import output_files
from realm_tf.run import outputs
from realm_tf.serving import pictures
from realm_tf.serving import report
from realm_tf.serving import run_reader

_RUN_DIR = launcher.existing_path(
  'run_dir', 'Run directory of a trainer', required=True, many=True
)
_EVAL_DIR = launcher.existing_path(
  'eval_dir', '--output_dir of bin.evaluate outside --run_dir', many=True
)
_RESULTS = launcher.existing_path(
  'results', 'Table of systems: --output of bin.results_table', many=True
)
_OUTPUT = launcher.new_path(
  'output',
  'File to write; by default report.html of the first run.',
  required=False,
  is_file=True,
)
_PICTURE = launcher.new_path(
  'picture',
  'SVG file to write, too: the comparison in --results.',
  required=False,
  is_file=True,
)


def main(_):
  path = _OUTPUT.value or os.path.join(_RUN_DIR.value[0], 'report.html')
  output_files.check(path, is_file=True)
  runs = run_reader.read(_RUN_DIR.value)
  evaluations = run_reader.evaluations(runs, _EVAL_DIR.value or [])
  compared = run_reader.comparisons(_RESULTS.value or [])
  outputs.write_text(path, report.build(runs, evaluations, compared))
  print(f'Wrote {path}.')
  if _PICTURE.value:
    if not compared:
      raise errors.UserError(
        '--picture needs --results with a system that has an interval. '
        'Found none. Give the --output of bin.results_table.'
      )
    outputs.write_text(_PICTURE.value, pictures.compared(compared).svg.decode())
    print(f'Wrote {_PICTURE.value}.')


if __name__ == '__main__':
  launcher.run(main)
