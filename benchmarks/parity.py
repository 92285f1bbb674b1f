r"""Compares everything with what Hugging Face's REALM computed.

  python -m benchmarks.parity --parity_dir=DIR

DIR holds arrays of one tiny random model, made with transformers 4.57.6: in
embedder, scorer_two_tower, knowledge_aug_encoder, joint, reader and openqa the
inputs, outputs and gradients, and in hugging_face/ the weights, which the
importer reads. Prints the largest difference of each array, relative to its
largest value; 1e-4 is agreement. `ratio` is 1e-4 divided by that difference.

A gradient that is zero but for rounding (say, of a key's bias) is compared
with the largest gradient of its model, and marked with *. Integers and truth
values agree, or differ by 1. Every array of DIR is compared, or is named.
"""

import itertools
import json

from absl import app
from absl import flags

from benchmarks import parity_networks
from benchmarks import parity_qa

_PARITY_DIR = flags.DEFINE_string(
  'parity_dir', None, 'Folder with the arrays.', required=True
)

_AGREEMENT = 1e-4
_PEER = 'transformers 4.57.6'
_CASES = (
  parity_networks.embedder,
  parity_networks.scorer,
  parity_networks.knowledge_encoder,
  parity_networks.joint,
  parity_qa.reader,
  parity_qa.open_qa,
)


def _print(rows):
  """Prints a row an array, and of gradients the worst of a file."""
  for file, in_file in itertools.groupby(
    rows, lambda row: row.case.rsplit('/', row.case.count('/') - 1)[0]
  ):
    in_file = list(in_file)
    if '/grads' in file:
      plain = [row for row in in_file if not row.rounding]
      worst = max(plain, key=lambda row: row.difference)
      zero = max(row.difference for row in in_file if row.rounding)
      print(f'{worst.difference:.1e}  {file}: worst of {len(plain)}')
      print(f'{zero:.1e}* {file}: worst of {len(in_file) - len(plain)}')
    else:
      for row in in_file:
        print(f'{row.difference:.1e}  {row.case}')


def main(_):
  rows, unseen = [], []
  for case in _CASES:
    folder = case(_PARITY_DIR.value)
    _print(folder.rows)
    rows += folder.rows
    unseen += folder.unseen()
  for name in unseen:
    print(f'Compared with nothing: {name}')
  disagree = [row.case for row in rows if row.difference > _AGREEMENT]
  print(f'{len(rows)} arrays; above {_AGREEMENT}: {disagree or "none"}')
  result = [
    {
      'case': row.case + '*' * row.rounding,
      'ours': row.difference,
      'peer': _PEER,
      'ratio': _AGREEMENT / max(row.difference, 1e-12),
    }
    for row in rows
  ]
  unit = 'largest relative difference'
  print(json.dumps({'name': 'parity', 'unit': unit, 'rows': result}))


if __name__ == '__main__':
  app.run(main)
