"""Writes random T5s and their outputs with transformers, to compare with.

  PEERS/bin/python tests/parity/peer_t5.py DIR

PEERS is the environment of benchmarks/peers.sh. DIR/v1_0 and DIR/v1_1 are
Hugging Face directories, each with arrays.npz.
"""

import os
import sys

import numpy as np
import torch
import transformers

_VERSIONS = {
  'v1_0': {'feed_forward_proj': 'relu', 'tie_word_embeddings': True},
  'v1_1': {'feed_forward_proj': 'gated-gelu', 'tie_word_embeddings': False},
}
_VOCAB, _BATCH, _INPUT, _OUTPUT = 60, 8, 40, 12


def _model(changes):
  torch.manual_seed(0)
  config = transformers.T5Config(
    vocab_size=_VOCAB,
    d_model=32,
    d_kv=8,
    d_ff=48,
    num_layers=3,
    num_decoder_layers=2,
    num_heads=4,
    decoder_start_token_id=0,
    **changes,
  )
  model = transformers.T5ForConditionalGeneration(config).eval()
  for name, weight in model.named_parameters():
    scale = 1.0 if 'shared' in name or 'bias' in name else 0.25
    if weight.dim() > 1:
      weight.copy_(torch.randn_like(weight) * scale)
    else:
      weight.copy_(1 + 0.2 * torch.randn_like(weight))
    if name in ('shared.weight', 'lm_head.weight'):
      weight[1] *= 2  # Or hardly an output would end.
  return model


def _pairs():
  """Returns inputs, and outputs that end, zero-padded."""
  rng = np.random.default_rng(0)
  inputs = rng.integers(2, _VOCAB, [_BATCH, _INPUT])
  inputs *= np.arange(_INPUT) < rng.integers(3, _INPUT + 1, [_BATCH, 1])
  outputs = rng.integers(2, _VOCAB, [_BATCH, _OUTPUT])
  place, ends = np.arange(_OUTPUT), rng.integers(1, _OUTPUT, [_BATCH, 1])
  outputs = np.where(place < ends, outputs, place == ends)
  return inputs, outputs


def _generated(ids):
  """Returns outputs without what they begin with, [., Ly], zero-padded."""
  ids = ids.numpy()[:, 1:]
  ended = np.cumsum(ids == 1, axis=1) - (ids == 1) > 0
  ids = np.where(ended, 0, ids)
  return np.pad(ids, [(0, 0), (0, _OUTPUT - ids.shape[1])])


def _write(directory, changes):
  model, (inputs, outputs) = _model(changes), _pairs()
  model.save_pretrained(directory)
  given = {'input_ids': torch.tensor(inputs)}
  given['attention_mask'] = (given['input_ids'] != 0).long()
  labels = torch.tensor(np.where(outputs == 0, -100, outputs))
  taught = model(**given, labels=labels)
  how = {'max_new_tokens': _OUTPUT, 'do_sample': False}
  np.savez(
    os.path.join(directory, 'arrays.npz'),
    inputs=inputs,
    outputs=outputs,
    logits=taught.logits.numpy(),
    loss=taught.loss.numpy(),
    greedy=_generated(model.generate(**given, **how)),
  )


if __name__ == '__main__':
  with torch.no_grad():
    for name in _VERSIONS:
      _write(os.path.join(sys.argv[1], name), _VERSIONS[name])
