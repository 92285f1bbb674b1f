r"""Makes a model directory from weights of another project.

  python -m bin.import_checkpoint --source=hf:DIR --output_dir=runs/imported
  python -m bin.import_checkpoint --output_dir=runs/nq \
      --source=tf1:realm-data/orqa_nq_model_from_realm,cc_news_pretrained \
      --blocks=enwiki-20181220/blocks.tfr --vocab_file=vocab.txt

hf: takes Hugging Face directories or names on the hub (BERT, REALM or T5); tf1:
takes checkpoints of the authors' release, or their directories, separated by
commas. Block embeddings become an index, block texts a corpus. Prints the
weights that are used, and not used.
"""

from . import launcher

from absl import flags

from realm_tf import errors
from realm_tf import machine
from realm_tf.exchange import hugging_face
from realm_tf.exchange import imported as imported_lib
from realm_tf.exchange import model_writing
from realm_tf.exchange import tf1_checkpoint
from realm_tf.run import outputs

_SOURCE = launcher.existing_path(
  'source', 'Weights: hf:DIR[,DIR] or tf1:PREFIX[,PREFIX].', required=True
)
_OUTPUT_DIR = launcher.new_path('output_dir', 'New model directory to write.')
_CORPUS_DIR = launcher.new_path(
  'corpus_dir',
  "The source's blocks; by default OUTPUT_DIR/corpus.",
  required=False,
)
_VOCAB_FILE = launcher.existing_path(
  'vocab_file', "Wordpieces, one per line; by default the source's."
)
_BLOCKS = launcher.existing_path(
  'blocks', "blocks.tfr or block_records.npy; by default the source's."
)
_NUM_HEADS = flags.DEFINE_integer(
  'num_heads', None, 'Heads of a tf1: source; by default hidden size / 64.', 1
)
_NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', machine.cores(), 'Processes that tokenize blocks.', 1
)


def main(_):
  outputs.check_new(_OUTPUT_DIR.value)
  importers = {'hf': hugging_face.load, 'tf1': tf1_checkpoint.load}
  kind, _, path = _SOURCE.value.partition(':')
  if kind not in importers or not path:
    raise errors.UserError(
      f'--source must be hf:DIR or tf1:PREFIX. Found {_SOURCE.value!r}. Give a '
      'directory with config.json, model.safetensors and vocab.txt, or the '
      'prefix of a checkpoint.'
    )
  given = imported_lib.Given(_VOCAB_FILE.value, _BLOCKS.value, _NUM_HEADS.value)
  imported = importers[kind](path, given)
  written = model_writing.write(
    imported, _OUTPUT_DIR.value, _CORPUS_DIR.value, _NUM_WORKERS.value
  )
  for title, names in imported.report._asdict().items():
    print(f'{title.replace("_", " ")}: {len(names)}')
    if title != 'used':  # The list is long and needs no action.
      for name in names:
        print(f'  {name}')
  for line in (*imported.notes, *(f'Wrote {path}.' for path in written)):
    print(line)


if __name__ == '__main__':
  launcher.run(main)
