"""Steps of transformers' encoders and heads, with their seconds.

Run by benchmarks/train_step.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_train_step.py PEER BATCH.npz THREADS WIDTH LAYERS HEADS

Answers each line with {"secs", "peak_mb"} of a forward and a backward pass in
train mode over the joint sequences of BATCH.npz, with random weights, without
embedding and update. Peers:

  legacy         RealmKnowledgeAugEncoder, float32, its own attention, head at
                 all positions
  bert           BertForMaskedLM, float32, scaled-dot-product attention, head at
                 the masked positions
  bert_autocast  the same under torch.autocast to bfloat16
  bert_bfloat16  the same with weights of bfloat16
"""

import json
import resource
import sys
import time

import numpy as np
import torch
import transformers
from transformers.models.deprecated.realm import configuration_realm
from transformers.models.deprecated.realm import modeling_realm

_SEED = 0


def _sizes(hidden_size, num_layers, num_heads):
  return {
    'hidden_size': hidden_size,
    'num_hidden_layers': num_layers,
    'num_attention_heads': num_heads,
    'intermediate_size': 4 * hidden_size,
  }


def _legacy(inputs, sizes):
  """Returns the model, and what computes its loss."""
  config = configuration_realm.RealmConfig(
    num_candidates=inputs['input_ids'].shape[1], **sizes
  )
  model = modeling_realm.RealmKnowledgeAugEncoder(config).train()
  return model, lambda: model(**inputs, return_dict=True).loss


def _bert(inputs, sizes, peer):
  """Returns the model, and what computes its loss."""
  config = transformers.BertConfig(attn_implementation='sdpa', **sizes)
  model = transformers.BertForMaskedLM(config).train()
  if peer == 'bert_bfloat16':
    model = model.to(torch.bfloat16)
  num_candidates = inputs['input_ids'].shape[1]
  tokens = {
    name: inputs[name].flatten(0, 1)
    for name in ('input_ids', 'attention_mask', 'token_type_ids')
  }
  labels = inputs['labels'].repeat_interleave(num_candidates, dim=0)
  rows, positions = labels.nonzero(as_tuple=True)

  def loss():
    autocast = peer == 'bert_autocast'
    with torch.autocast('cpu', torch.bfloat16, enabled=autocast):
      states = model.bert(**tokens).last_hidden_state
      logits = model.cls(states[rows, positions])
    return torch.nn.functional.cross_entropy(
      logits.float(), labels[rows, positions]
    )

  return model, loss


def _read(path):
  with np.load(path, allow_pickle=False) as file:
    return {name: torch.from_numpy(value) for name, value in file.items()}


def _step(model, loss):
  """Returns the seconds of forward and backward."""
  model.zero_grad(set_to_none=True)
  begun = time.monotonic()
  loss().backward()
  return time.monotonic() - begun


def main(peer, batch_file, num_threads, *sizes):
  torch.set_num_threads(int(num_threads))
  torch.manual_seed(_SEED)
  inputs, sizes = _read(batch_file), _sizes(*map(int, sizes))
  if peer == 'legacy':
    model, loss = _legacy(inputs, sizes)
  else:
    model, loss = _bert(inputs, sizes, peer)
  for _ in sys.stdin:
    answer = {'secs': _step(model, loss)}
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**answer, 'peak_mb': peak_kb / 1024}), flush=True)


if __name__ == '__main__':
  main(*sys.argv[1:])
