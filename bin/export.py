r"""Exports a model into a format that runs without this code.

  python -m bin.export --format=hugging_face --model_dir=runs/qa \
      --tower=reader --output_dir=/tmp/reader
  python -m bin.export --format=hub --model_dir=runs/qa --output_dir=/tmp/hub
  python -m bin.export --format=saved_model --model_dir=runs/qa \
      --corpus_dir=data/corpus --output_dir=/tmp/realm/1

hugging_face writes one encoder as a BERT directory, hub each encoder as a TF
Hub module, saved_model the model, index and corpus (docs/export.md).
"""

from . import answer_flags
from . import launcher

from absl import flags
from absl import logging

from realm_tf.config import names
from realm_tf.exchange import hub_modules
from realm_tf.exchange import hugging_face_export
from realm_tf.exchange import saved_model
from realm_tf.qa import loading
from realm_tf.run import outputs

_OUTPUT_DIR = launcher.new_path('output_dir', 'New directory to write.')
_FORMATS = ['hub', 'hugging_face', 'saved_model']
_FORMAT = flags.DEFINE_enum(
  'format', None, _FORMATS, 'Format to write.', required=True
)
_TOWER = flags.DEFINE_enum(
  'tower', 'query', names.TOWERS, 'Encoder that --format=hugging_face writes.'
)
_CORPUS_DIR = launcher.existing_path(
  'corpus_dir', 'Corpus directory that --format=saved_model answers from.'
)
_SEARCHER = flags.DEFINE_enum(
  'searcher', 'exact', names.SAVED_SEARCHERS, 'Searcher of the SavedModel.'
)
flags.mark_flag_as_required('model_dir')
launcher.check_flags(
  lambda format, corpus_dir: format != 'saved_model' or corpus_dir,
  '--format=saved_model needs --corpus_dir, the corpus of the index.',
)


def main(_):
  model_dir, output_dir = answer_flags.MODEL_DIR.value, _OUTPUT_DIR.value
  with outputs.filling(output_dir):
    if _FORMAT.value == 'hub':
      print('\n'.join(hub_modules.export(model_dir, output_dir)))
    elif _FORMAT.value == 'hugging_face':
      left_out = hugging_face_export.export(model_dir, _TOWER.value, output_dir)
      if left_out:
        print(
          f'BertModel has no place for {len(left_out)} weights of the head:'
        )
        print('\n'.join(f'  {name}' for name in left_out))
    else:
      opened = loading.load(
        model_dir, _CORPUS_DIR.value, answer_flags.INDEX_DIR.value
      )
      saved_model.export(
        opened, output_dir, answer_flags.choices(), _SEARCHER.value
      )
  print(f'Wrote {output_dir}.')


if __name__ == '__main__':
  launcher.run(main, logging.ERROR)  # Hides Keras's log of traced functions.
