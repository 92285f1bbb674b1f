"""Embeds blocks with transformers' RealmEmbedder, and says how long it took.

Run by benchmarks/embed.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_embed.py MODEL_DIR HIDDEN LAYERS HEADS

Makes a model of random weights and writes it to MODEL_DIR. Then answers each
JSON line of its input, {"tokens", "batch_size", "pad_to", "output"}, with
{"secs"}: it embeds the rows of the .npz file `tokens` in order, each batch
padded to `pad_to`, or to its longest row where that is 0.
"""

import json
import sys
import time

import numpy as np
import torch
from transformers.models.deprecated.realm import configuration_realm
from transformers.models.deprecated.realm import modeling_realm

_NUM_THREADS = 2
_SEED = 0


def _make_model(directory, hidden_size, num_layers, num_heads):
  torch.manual_seed(_SEED)
  config = configuration_realm.RealmConfig(
    hidden_size=hidden_size,
    num_hidden_layers=num_layers,
    num_attention_heads=num_heads,
    intermediate_size=4 * hidden_size,
  )
  model = modeling_realm.RealmEmbedder(config).eval()
  model.save_pretrained(directory)
  return model


def _embed(model, arrays, batch_size, pad_to):
  results = []
  for start in range(0, len(arrays['input_word_ids']), batch_size):
    rows = slice(start, start + batch_size)
    length = pad_to or int(arrays['input_mask'][rows].sum(axis=1).max())
    ids, mask, types = (
      torch.from_numpy(arrays[name][rows, :length].astype(np.int64))
      for name in ('input_word_ids', 'input_mask', 'input_type_ids')
    )
    results.append(
      model(
        input_ids=ids, attention_mask=mask, token_type_ids=types
      ).projected_score.numpy()
    )
  return np.concatenate(results)


def main(directory, *sizes):
  torch.set_num_threads(_NUM_THREADS)
  model = _make_model(directory, *map(int, sizes))
  print(json.dumps({'secs': 0.0}), flush=True)
  with torch.inference_mode():
    for line in sys.stdin:
      request = json.loads(line)
      with np.load(request['tokens'], allow_pickle=False) as file:
        arrays = dict(file)
      begun = time.monotonic()
      result = _embed(model, arrays, request['batch_size'], request['pad_to'])
      secs = time.monotonic() - begun
      np.save(request['output'], result)
      print(json.dumps({'secs': secs}), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
