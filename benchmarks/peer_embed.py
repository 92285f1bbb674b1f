"""Embeds blocks with torch or OpenVINO, and measures the seconds.

Run by benchmarks/embed.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_embed.py MODEL_DIR HIDDEN LAYERS HEADS

Writes transformers' RealmEmbedder with random weights to MODEL_DIR. Answers the
line null with {}, and each JSON line {"peer", "dtype", "tokens", "batch_size",
"pad_to", "output"} with {"secs"}: embeds the rows of the .npz file `tokens` in
order, each batch padded to `pad_to`, or to its longest row if that is 0. Peers
with the same encoder weights:

  realm     RealmEmbedder, with its own attention and its projection
  bert      BertModel, with scaled-dot-product attention
  openvino  the same BertModel, converted
"""

import json
import sys
import time

import numpy as np
import torch
import transformers
from transformers.models.deprecated.realm import configuration_realm
from transformers.models.deprecated.realm import modeling_realm

_NUM_THREADS = 2
_SEED = 0
_DTYPES = {'float32': torch.float32, 'bfloat16': torch.bfloat16}


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


def _bert(realm):
  """Returns a BertModel with the embedder's encoder."""
  config = transformers.BertConfig.from_dict(realm.config.to_dict())
  config.architectures = None
  model = transformers.BertModel(config).eval()
  model.load_state_dict(realm.realm.state_dict(), strict=False)
  return model


def _openvino(bert, dtype):
  """Returns `bert` on OpenVINO: ids, mask and types, int64 [n, L] -> [n, H]."""
  import openvino

  example = torch.ones([2, 16], dtype=torch.int64)
  converted = openvino.convert_model(
    bert,
    example_input={
      'input_ids': example,
      'attention_mask': example,
      'token_type_ids': example,
    },
  )
  compiled = openvino.Core().compile_model(
    converted,
    'CPU',
    {
      'INFERENCE_NUM_THREADS': _NUM_THREADS,
      'INFERENCE_PRECISION_HINT': {'float32': 'f32', 'bfloat16': 'bf16'}[dtype],
    },
  )
  # The second output is the pooled one.
  return lambda ids, mask, types: compiled(
    {'input_ids': ids, 'attention_mask': mask, 'token_type_ids': types}
  )[1]


def _peer(name, dtype, realm):
  """Returns a function of ids, mask and types, int64 [n, L], to [n, ...]."""
  if name == 'openvino':
    return _openvino(_bert(realm), dtype)
  model = realm if name == 'realm' else _bert(realm)
  model = model.to(_DTYPES[dtype])
  output = 'projected_score' if name == 'realm' else 'pooler_output'

  def embed(ids, mask, types):
    results = model(
      input_ids=torch.from_numpy(ids),
      attention_mask=torch.from_numpy(mask),
      token_type_ids=torch.from_numpy(types),
    )
    return getattr(results, output).float().numpy()

  return embed


def _embed(embed, arrays, batch_size, pad_to):
  results = []
  for start in range(0, len(arrays['input_word_ids']), batch_size):
    rows = slice(start, start + batch_size)
    length = pad_to or int(arrays['input_mask'][rows].sum(axis=1).max())
    tokens = (
      np.ascontiguousarray(arrays[name][rows, :length], np.int64)
      for name in ('input_word_ids', 'input_mask', 'input_type_ids')
    )
    results.append(embed(*tokens))
  return np.concatenate(results)


def main(directory, *sizes):
  torch.set_num_threads(_NUM_THREADS)
  realm = _make_model(directory, *map(int, sizes))
  peers = {}
  with torch.inference_mode():
    for line in sys.stdin:
      request = json.loads(line)
      if request is None:
        print('{}', flush=True)
        continue
      key = request['peer'], request['dtype']
      embed = peers.get(key) or _peer(*key, realm)
      peers[key] = embed
      with np.load(request['tokens'], allow_pickle=False) as file:
        arrays = dict(file)
      begun = time.monotonic()
      result = _embed(embed, arrays, request['batch_size'], request['pad_to'])
      secs = time.monotonic() - begun
      np.save(request['output'], result)
      print(json.dumps({'secs': secs}), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
