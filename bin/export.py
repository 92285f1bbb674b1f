r"""Exports a model to run without this code.

  python -m bin.export --format=hugging_face --model_dir=runs/qa \
      --tower=reader --output_dir=/tmp/reader
  python -m bin.export --format=hub --model_dir=runs/qa --output_dir=/tmp/hub
  python -m bin.export --format=saved_model --model_dir=runs/qa \
      --corpus_dir=data/corpus --output_dir=/tmp/realm/1

hugging_face writes one encoder as a BERT directory: config.json,
model.safetensors and vocab.txt. hub writes each encoder as a TF Hub module.
saved_model writes model, index and corpus as one SavedModel (docs/export.md).
"""

from . import launcher
from . import reader_flags

from absl import flags
from absl import logging

from realm_tf import errors
from realm_tf.answering import loading
from realm_tf.export import hub_export
from realm_tf.export import hugging_face_export
from realm_tf.export import saved_model

_MODEL_DIR = flags.DEFINE_string(
  'model_dir', None, 'Model directory, or any run directory.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New directory to write.', required=True
)
_TOWER = flags.DEFINE_enum(
  'tower',
  'query',
  hugging_face_export.TOWERS,
  'Encoder that --format=hugging_face writes.',
)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus directory that --format=saved_model answers from.'
)
_SEARCHER = flags.DEFINE_enum(
  'searcher',
  'exact',
  saved_model.SEARCHERS,
  'Search of --format=saved_model; loading scann needs its package.',
)


def _hugging_face():
  left_out = hugging_face_export.export(
    _MODEL_DIR.value, _TOWER.value, _OUTPUT_DIR.value
  )
  if left_out:
    print(f'BertModel has no place for {len(left_out)} weights of its head:')
    print('\n'.join(f'  {name}' for name in left_out))


def _hub():
  for name in hub_export.export(_MODEL_DIR.value, _OUTPUT_DIR.value):
    print(name)


def _saved_model():
  if not _CORPUS_DIR.value:
    raise errors.UserError(
      '--format=saved_model needs the blocks to answer from. Found no '
      '--corpus_dir. Give the one that the index is of.'
    )
  loaded = loading.load(
    _MODEL_DIR.value, _CORPUS_DIR.value, reader_flags.INDEX_DIR.value
  )
  saved_model.export(
    loaded, _OUTPUT_DIR.value, reader_flags.choices(), _SEARCHER.value
  )


_FORMATS = {
  'hub': _hub,
  'hugging_face': _hugging_face,
  'saved_model': _saved_model,
}

_FORMAT = flags.DEFINE_enum(
  'format', None, sorted(_FORMATS), 'Format to write.', required=True
)


def main(_):
  _FORMATS[_FORMAT.value]()
  print(f'Wrote {_OUTPUT_DIR.value}.')


if __name__ == '__main__':
  launcher.run(main, logging.ERROR)  # Keras logs what it traces.
