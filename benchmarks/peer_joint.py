r"""How exact transformers' own joint gradients are: float32 beside float64.

  .peers/bin/python -m benchmarks.peer_joint --parity_dir=DIR

DIR is that of benchmarks/parity.py. The gradients of one query's scores sum to
zero, so the towers' are what is left of nearly equal terms. Prints, of the
gradients in DIR, the largest difference from the same in float64, relative to
an array's largest value; what is zero but for rounding is left out.
"""

import argparse
import json
import os

import numpy as np
import torch
from transformers.models.deprecated import realm

# Beside these, all is rounding; see benchmarks/parity_arrays.py.
_CANCELS = ('self.key.bias', 'embedder.cls.LayerNorm.bias')


def _arrays(directory, *path):
  with np.load(os.path.join(directory, *path), allow_pickle=False) as arrays:
    return dict(arrays)


def _fill(model, directory, name):
  weights = _arrays(directory, name, 'weights.npz')
  model.load_state_dict({k: torch.tensor(v) for k, v in weights.items()})
  return model.double().eval()


def _tensors(arrays):
  return {name: torch.tensor(value) for name, value in arrays.items()}


def _gradients(directory):
  """Returns the loss's gradients of the scorer's weights, in float64."""
  with open(os.path.join(directory, 'manifest.json')) as file:
    config = realm.RealmConfig(**json.load(file)['config'])
  scorer = realm.RealmScorer(config, query_embedder=realm.RealmEmbedder(config))
  scorer = _fill(scorer, directory, 'scorer_two_tower')
  name = 'knowledge_aug_encoder'
  encoder = _fill(realm.RealmKnowledgeAugEncoder(config), directory, name)
  inputs = _tensors(_arrays(directory, name, 'inputs.npz'))
  inputs['relevance_score'] = scorer(
    **_tensors(_arrays(directory, 'scorer_two_tower', 'inputs.npz'))
  ).relevance_score
  encoder(**inputs).loss.backward()
  return {
    name: parameter.grad.numpy()
    for name, parameter in scorer.named_parameters()
    if parameter.grad is not None
  }


def main():
  """Prints one JSON line."""
  parser = argparse.ArgumentParser()
  parser.add_argument('--parity_dir', required=True)
  directory = parser.parse_args().parity_dir
  exact = _gradients(directory)
  found = _arrays(directory, 'joint', 'grads_scorer_two_tower.npz')
  differences = {
    name: float(np.abs(value - exact[name]).max() / np.abs(exact[name]).max())
    for name, value in found.items()
    if not name.endswith(_CANCELS[0]) and name != _CANCELS[1]
  }
  worst = max(differences, key=differences.get)
  print(
    json.dumps(
      {
        'name': 'peer_joint',
        'unit': 'largest relative difference, float32 to float64',
        'rows': [
          {
            'case': f'worst of {len(differences)}: {worst}',
            'ours': None,
            'peer': differences[worst],
            'ratio': None,
          }
        ],
      }
    )
  )


if __name__ == '__main__':
  main()
