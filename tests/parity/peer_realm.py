r"""Writes outputs and gradients of transformers' REALM for a small model.

  .peers/bin/python -m tests.parity.peer_realm --output=FILE.json

Runs in the environment of benchmarks/peers.sh, which has transformers 4.57.6
and torch. Weights and inputs come from tests/parity/realm_weights.py, so
only outputs and gradients are written; all is computed in float64.
"""

import argparse
import json

import numpy as np
import torch
from transformers.models.deprecated import realm

from tests.parity import realm_weights

_CONFIG = realm.RealmConfig(**realm_weights.CONFIG)
_SCORES = np.array([[0.5, -1.0, 0.25], [2.0, 1.5, 0.0]])
_BLOCK_SCORES = np.array([1.0, 0.25, -0.5, -2.0])


def _fill(model, weights):
  state = {name: torch.tensor(value) for name, value in weights.items()}
  found = model.load_state_dict(state, strict=False)
  if found.unexpected_keys:
    raise ValueError(f'transformers has no {found.unexpected_keys}.')
  return model.double().eval()


def _tensors(arrays):
  return {name: torch.tensor(value).long() for name, value in arrays.items()}


def _gradients(prefix, model):
  return {
    f'{prefix}.grad.{name}': parameter.grad.numpy()
    for name, parameter in model.named_parameters()
    if parameter.grad is not None
  }


def _embedder():
  model = _fill(realm.RealmEmbedder(_CONFIG), realm_weights.embedder(0))
  projected = model(**_tensors(realm_weights.tokens(1, 3, 9))).projected_score
  (projected**2).sum().backward()
  return {
    'embedder.projected_score': projected.detach().numpy(),
    **_gradients('embedder', model),
  }


def _encoder():
  weights = realm_weights.knowledge_encoder(2)
  model = _fill(realm.RealmKnowledgeAugEncoder(_CONFIG), weights)
  scores = torch.tensor(_SCORES, requires_grad=True)
  labels, mask = np.full([2, 14], -100), np.zeros([2, 14], np.int64)
  labels[0, [1, 3]], labels[1, 2] = (7, 11), 20
  mask[0, [1, 3]], mask[1, 2] = 1, 1
  loss = model(
    **_tensors(realm_weights.tokens(3, 2, 3, 14)),
    relevance_score=scores,
    labels=torch.tensor(labels),
    mlm_mask=torch.tensor(mask),
  ).loss
  loss.backward()
  return {
    'encoder.loss': loss.detach().numpy(),
    'encoder.scores': _SCORES,
    'encoder.scores_grad': scores.grad.numpy(),
    'encoder.labels': labels,
    'encoder.mask': mask,
    **_gradients('encoder', model),
  }


def _reader():
  model = _fill(realm.RealmReader(_CONFIG), realm_weights.reader(4))
  inputs = realm_weights.tokens(5, 4, 16)
  is_block = inputs['token_type_ids'] * inputs['attention_mask']
  is_block[np.arange(4), is_block.cumsum(1).argmax(1)] = 0  # The last [SEP].
  starts, ends = np.full([4, 2], -1), np.full([4, 2], -1)
  starts[0], ends[0] = (7, 10), (8, 10)
  starts[3, 0], ends[3, 0] = 9, 9
  has_answer = np.array([True, False, False, True])
  output = model(
    **{name: value[:2] for name, value in _tensors(inputs).items()},
    relevance_score=torch.tensor(_BLOCK_SCORES),
    block_mask=torch.tensor(is_block.astype(bool)),
    start_positions=torch.tensor(starts),
    end_positions=torch.tensor(ends),
    has_answers=torch.tensor(has_answer),
    return_dict=True,
  )
  output.loss.backward()
  names = ('loss', 'retriever_loss', 'reader_loss', 'block_idx')
  return {
    **{
      f'reader.{name}': getattr(output, name).detach().numpy()
      for name in (*names, 'start_pos', 'end_pos')
    },
    'reader.scores': _BLOCK_SCORES,
    'reader.has_answer': has_answer,
    'reader.starts': starts,
    'reader.ends': ends,
    **_gradients('reader', model),
  }


def main():
  """Writes the arrays; gradients as float32, for the file shall be small."""
  parser = argparse.ArgumentParser()
  parser.add_argument('--output', required=True)
  lines = []
  for name, value in {**_embedder(), **_encoder(), **_reader()}.items():
    value = np.asarray(value)
    if '.grad.' in name:
      value = value.astype(np.float32)
    array = {'dtype': str(value.dtype), 'values': _numbers(value)}
    lines.append(f' {json.dumps(name)}: {json.dumps(array)}')
  with open(parser.parse_args().output, 'w') as file:
    file.write('{\n' + ',\n'.join(lines) + '\n}\n')


def _numbers(value):
  """Returns nested lists; float32 with no more digits than it has."""
  if value.ndim:
    return [_numbers(each) for each in value]
  return float(str(value)) if value.dtype == np.float32 else value.item()


if __name__ == '__main__':
  main()
