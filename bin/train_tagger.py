r"""Trains a BERT to find named entities, for pre-training to mask.

  python -m bin.train_tagger --train=eng.train --dev=eng.testa \
      --init_from=runs/bert --output_dir=runs/tagger
  python -m bin.make_queries --tagger=bert:runs/tagger ...

Files have CoNLL-2003's columns: first a word, last its IOB1 or IOB2 label.
"""

from . import config_flags
from . import launcher
from . import training_flags

from realm_tf.corpus import conll
from realm_tf.training import taggers

_TRAIN = launcher.existing_path(
  'train', 'CoNLL files to train on.', required=True, many=True
)
_DEV = launcher.existing_path('dev', 'CoNLL files to evaluate on.', many=True)
_OUTPUT_DIR = launcher.new_path('output_dir', 'New directory of the tagger.')
_VOCAB_FILE = launcher.existing_path(
  'vocab_file', 'vocab.txt or tokenizer.json, in place of --init_from.'
)
launcher.check_flags(
  lambda init_from, vocab_file: bool(init_from) != bool(vocab_file),
  'One of --init_from and --vocab_file must be given, for the vocabulary.',
)


def main(_):
  train, dev = conll.read(_TRAIN.value), []
  if _DEV.value:
    dev = conll.read(_DEV.value)  # Reports a mistake before training.
  job = training_flags.job(_OUTPUT_DIR.value)
  taggers.run(config_flags.config(), train, job, vocab_file=_VOCAB_FILE.value)
  if dev:
    scores = taggers.evaluate(_OUTPUT_DIR.value, dev)
    print(
      f'Entities of {len(dev)} sentences: precision {scores.precision:.2f}, '
      f'recall {scores.recall:.2f}, F1 {scores.f1:.2f}.'
    )
  print(f'Wrote {_OUTPUT_DIR.value}.')


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
