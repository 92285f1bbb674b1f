"""Steps of transformers' RealmKnowledgeAugEncoder, and how long they took.

Run by benchmarks/train_step.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_train_step.py BATCH.npz HIDDEN LAYERS HEADS

Makes a model of random weights. Then answers each line of its input with
{"secs", "peak_mb"}: of a forward and a backward pass in train mode over the
joint sequences of BATCH.npz, and of this process so far. It neither embeds nor
updates, for the model that it is cannot.
"""

import json
import pathlib
import re
import sys
import time

import numpy as np
import torch
from transformers.models.deprecated.realm import configuration_realm
from transformers.models.deprecated.realm import modeling_realm

_NUM_THREADS = 2
_SEED = 0


def _make_model(num_candidates, hidden_size, num_layers, num_heads):
  torch.manual_seed(_SEED)
  config = configuration_realm.RealmConfig(
    hidden_size=hidden_size,
    num_hidden_layers=num_layers,
    num_attention_heads=num_heads,
    intermediate_size=4 * hidden_size,
    num_candidates=num_candidates,
  )
  return modeling_realm.RealmKnowledgeAugEncoder(config).train()


def _read(path):
  with np.load(path, allow_pickle=False) as file:
    return {name: torch.from_numpy(value) for name, value in file.items()}


def _step(model, inputs):
  """Returns the seconds of forward and backward."""
  model.zero_grad(set_to_none=True)
  begun = time.monotonic()
  model(**inputs, return_dict=True).loss.backward()
  return time.monotonic() - begun


def _peak_mb():
  status = pathlib.Path('/proc/self/status').read_text()
  return int(re.search(r'VmHWM:\s+(\d+)', status)[1]) / 1024


def main(batch_file, *sizes):
  torch.set_num_threads(_NUM_THREADS)
  inputs = _read(batch_file)
  model = _make_model(inputs['input_ids'].shape[1], *map(int, sizes))
  print(json.dumps({'secs': 0.0, 'peak_mb': _peak_mb()}), flush=True)
  for _ in sys.stdin:
    secs = _step(model, inputs)
    print(json.dumps({'secs': secs, 'peak_mb': _peak_mb()}), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
