r"""Prints evaluations as tables with a row per system; writes them as JSON.

python -m bin.results_table --run_dir=runs/quickstart \
    --rows=realm_0,ict_0,bm25_0 --rows=realm_all,ict_all,bm25_all \
    --questions=runs/quickstart/world/test_questions.jsonl

Each --rows is a table; its rows are directories RUN_DIR/eval/ROW of
bin.evaluate, or LABEL=ROW. Exact match (recall@5 without a reader) has a 95 %
interval (bootstrap over questions) and, with --questions, the p-value of
McNemar's exact test against the first row.
"""

import json
import os

from . import launcher
from . import question_flags

from absl import flags

from realm_tf import output_files
from realm_tf.qa import summary
from realm_tf.run import outputs

_RUN_DIR = launcher.existing_path(
  'run_dir', 'Directory of a launch script.', required=True
)
_ROWS = flags.DEFINE_multi_string(
  'rows', None, 'Systems of a table, as a,b,c', required=True
)
_OUTPUT = launcher.new_path(
  'output',
  'File to write; by default results.json of --run_dir.',
  required=False,
  is_file=True,
)
_WITH_COSTS = flags.DEFINE_bool(
  'costs', False, 'Add milliseconds per question, parameters and megabytes.'
)
_TITLE = flags.DEFINE_string(
  'title', None, 'Title of the tables in a report; by default the file name.'
)


def main(_):
  path = _OUTPUT.value or os.path.join(_RUN_DIR.value, 'results.json')
  output_files.check(path, is_file=True)
  questions = question_flags.read(keep_impossible=True)
  tables = []
  for names in _ROWS.value:
    eval_dirs = {}
    for name in names.split(','):
      label, _, part = name.rpartition('=')
      eval_dirs[label or part] = os.path.join(_RUN_DIR.value, 'eval', part)
    rows = summary.systems(eval_dirs, questions, _WITH_COSTS.value)
    tables.append(rows)
    print(f'{summary.table(rows)}\n')
  title = {'title': _TITLE.value} if _TITLE.value else {}
  text = json.dumps({**title, 'tables': tables}, indent=1)
  outputs.write_text(path, text)


if __name__ == '__main__':
  launcher.run(main)
