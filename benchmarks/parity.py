r"""Compares the networks with what Hugging Face's REALM computed.

  python -m benchmarks.parity --parity_dir=DIR

DIR holds hugging_face/{embedder,knowledge_aug_encoder,reader} and, beside it,
inputs.npz and outputs.npz of each, made with transformers 4.57.6. Prints the
largest difference of each output, relative to the output's largest value; 1e-4
is agreement. `ratio` is 1e-4 divided by that difference.
"""

import json
import os

from absl import app
from absl import flags
import numpy as np

from realm_tf.importing import hugging_face
from realm_tf.modeling import realm_model

_PARITY_DIR = flags.DEFINE_string(
  'parity_dir', None, 'Folder with the arrays.', required=True
)

_AGREEMENT = 1e-4


def _model(name, part):
  directory = os.path.join(_PARITY_DIR.value, 'hugging_face', name)
  model = realm_model.RealmModel(hugging_face.model_config(directory), [part])
  arrays, _ = hugging_face.load_bert(directory)
  missing = model.load(arrays).missing
  if missing:
    raise ValueError(f'The importer must fill {name}. Missing: {missing}.')
  return model


def _arrays(name, file):
  path = os.path.join(_PARITY_DIR.value, name, file)
  with np.load(path, allow_pickle=False) as arrays:
    return dict(arrays)


def _tokens(arrays):
  return {
    ours: arrays[theirs].astype(np.int32)
    for ours, theirs in (
      ('input_word_ids', 'input_ids'),
      ('input_mask', 'attention_mask'),
      ('input_type_ids', 'token_type_ids'),
    )
  }


def _row(case, ours, theirs):
  ours, theirs = np.asarray(ours), np.asarray(theirs)
  if ours.shape != theirs.shape:
    raise ValueError(f'{case}: shapes {ours.shape} and {theirs.shape}.')
  difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
  return {
    'case': case,
    'ours': difference,
    'peer': 'transformers 4.57.6',
    'ratio': _AGREEMENT / max(difference, 1e-12),
  }


def _embedder():
  model = _model('embedder', realm_model.EMBEDDER)
  ours = model.query_embedder(_tokens(_arrays('embedder', 'inputs.npz')))
  theirs = _arrays('embedder', 'outputs.npz')['projected_score__f64']
  return _row('embedder', ours, theirs)


def _knowledge_encoder():
  name = 'knowledge_aug_encoder'
  inputs = _arrays(name, 'inputs.npz')
  positions = np.stack([np.flatnonzero(row) for row in inputs['mlm_mask']])
  gold = np.take_along_axis(inputs['labels'], positions, axis=1)
  ours = _model(name, realm_model.MASKED_LM).knowledge_encoder(
    _tokens(inputs), positions.astype(np.int32), gold.astype(np.int32)
  )
  theirs = np.take_along_axis(
    _arrays(name, 'extra.npz')['token_gold_log_prob'],
    positions[:, None, :],
    axis=2,
  )
  return _row('log p(y|z,x) of masked tokens', ours, theirs)


def _span_reader():
  inputs, outputs = (
    _arrays('reader', f) for f in ('inputs.npz', 'outputs.npz')
  )
  tokens = _tokens(inputs)
  # Their reader is told where the block is; ours takes the second segment.
  is_block = inputs['block_mask'][: len(tokens['input_word_ids'])]
  first = is_block.argmax(axis=1)  # [K]
  scores = (
    _model('reader', realm_model.SPAN)
    .span_reader(
      {name: value[None] for name, value in tokens.items()}, is_block.shape[1]
    )
    .numpy()[0]
  )  # [K, L, W]
  prefix = 'qa_outputs.'
  starts, ends = (
    outputs[prefix + name] for name in ('candidate_starts', 'candidate_ends')
  )
  theirs = outputs[prefix + 'reader_logits_before_relevance']  # [K, S]
  rows, columns = np.nonzero(theirs > -1e9)
  ours = scores[rows, starts[columns] - first[rows], (ends - starts)[columns]]
  # As many spans exist here as there, besides having the same scores.
  if (scores > -1e8).sum() != len(rows):
    raise ValueError(f'{(scores > -1e8).sum()} spans, theirs {len(rows)}.')
  return _row('span scores', ours, theirs[rows, columns])


def main(_):
  rows = [_embedder(), _knowledge_encoder(), _span_reader()]
  print(
    json.dumps(
      {'name': 'parity', 'unit': 'largest relative difference', 'rows': rows}
    )
  )


if __name__ == '__main__':
  app.run(main)
