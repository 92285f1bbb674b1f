r"""Writes the demonstration's articles, sentences and questions as JSONL files.

  python -m bin.unpack_demo --output_dir=/tmp/demo
  python -m bin.unpack_demo --output_dir=/tmp/changed \
      --predictions=runs/qa/eval/predictions.jsonl

realm_tf/demo/README.md describes the files.

With --predictions, the fact of the first right answer to test_questions gets
another article's value. Files: articles with the change, question (with its new
answer), and changed.json (with both answers). No training is needed to answer
it (Appendix C).
"""

from . import launcher

from realm_tf import errors
from realm_tf.corpus import records
from realm_tf.demo import texts

_OUTPUT_DIR = launcher.new_path('output_dir', 'Directory to write.')
_PREDICTIONS = launcher.existing_path(
  'predictions', 'predictions.jsonl of bin.evaluate, to change a fact.'
)


def main(_):
  output_dir = _OUTPUT_DIR.value
  if not _PREDICTIONS.value:
    names = texts.unpack(output_dir)
    print(f'Wrote {", ".join(names)} to {output_dir}.')
    return
  rows = records.read_json_lines(_PREDICTIONS.value)
  right = (str(row.get('id')) for _, row in rows if row.get('exact_match'))
  if not texts.change_fact(right, output_dir):
    raise errors.UserError(
      '--predictions must hold a right answer of one value to one of '
      f'test_questions. Found none in {_PREDICTIONS.value}. Train longer.'
    )


if __name__ == '__main__':
  launcher.run(main)
