r"""Writes outputs and gradients of transformers' REALM for a small model.

  .peers/bin/python -m tests.parity.peer_realm \
    --output=tests/testdata/transformers_realm.json

Runs in the environment of benchmarks/peers.sh, which has transformers 4.57.6
and torch. Weights and inputs come from tests/parity/realm_weights.py, so
only outputs and gradients are written; all is computed in float64.
"""

import argparse
import json
import os
import tempfile

import numpy as np
import torch
from transformers.models.deprecated import realm

from tests.parity import realm_weights

_CONFIG = realm.RealmConfig(**realm_weights.CONFIG)
_RETRIEVED = ('block_ids', 'input_ids', 'attention_mask', 'token_type_ids')
_LOSSES = ('loss', 'retriever_loss', 'reader_loss')
_READER_INPUTS = (
  'relevance_score',
  'has_answers',
  'start_positions',
  'end_positions',
)


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


def _joint():
  """Feeds the scores of two towers into the loss of the encoder."""
  towers = realm.RealmScorer(_CONFIG, realm.RealmEmbedder(_CONFIG))
  scorer = _fill(towers, realm_weights.scorer(9))
  encoder = realm.RealmKnowledgeAugEncoder(_CONFIG)
  encoder = _fill(encoder, realm_weights.knowledge_encoder(2))
  blocks = _tensors(realm_weights.tokens(9, 2, 3, 12))
  scored = scorer(
    **_tensors(realm_weights.tokens(8, 2, 9)),
    **{f'candidate_{name}': value for name, value in blocks.items()},
  )
  scores = scored.relevance_score
  scores.retain_grad()
  rows, places = np.arange(2)[:, None], realm_weights.MASKED_POSITIONS
  gold, is_masked = realm_weights.MASKED_TOKENS, realm_weights.IS_MASKED > 0
  labels = np.full([2, 14], -100)
  labels[np.where(is_masked)[0], places[is_masked]] = gold[is_masked]
  output = encoder(
    **_tensors(realm_weights.tokens(3, 2, 3, 14)),
    relevance_score=scores,
    labels=torch.tensor(labels),
    mlm_mask=torch.tensor(labels >= 0),
  )
  output.loss.backward()
  log_probs = output.logits.view(2, 3, 14, -1).log_softmax(-1)
  log_probs = log_probs.detach().numpy()[rows, :, places, gold]  # [B, M, K]
  return {
    'scorer.query_score': scored.query_score.detach().numpy(),
    'scorer.candidate_score': scored.candidate_score.detach().numpy(),
    'scorer.relevance_score': scores.detach().numpy(),
    'joint.log_probs': log_probs.transpose(0, 2, 1) * is_masked[:, None],
    'joint.p_z': scores.softmax(-1).detach().numpy(),
    'joint.loss': output.loss.detach().numpy(),
    'joint.scores.grad': scores.grad.numpy(),
    **_gradients('scorer', scorer),
    **_gradients('encoder', encoder),
  }


def _open_qa():
  """Answers a question in training mode, which searches more than it reads."""
  with tempfile.TemporaryDirectory() as directory:
    vocab_file = os.path.join(directory, 'vocab.txt')
    with open(vocab_file, 'w') as file:
      file.write('\n'.join(realm_weights.VOCABULARY))
    tokenizer = realm.RealmTokenizer(vocab_file)
  blocks = np.array([text.encode() for text in realm_weights.BLOCKS], object)
  retriever, seen = realm.RealmRetriever(blocks, tokenizer), {}

  def retrieve(block_ids, *args, **kwargs):
    *labels, packed = retriever(block_ids, *args, **kwargs)
    seen.update(block_ids=block_ids, **packed)
    return *labels, packed

  model = realm.RealmForOpenQA(_CONFIG, retrieve)
  model = _fill(model, realm_weights.open_qa(49)).train()
  model.reader.register_forward_pre_hook(
    lambda module, args, kwargs: seen.update(
      {name: kwargs[name] for name in _READER_INPUTS}
    ),
    with_kwargs=True,
  )
  model.reader.qa_outputs.register_forward_hook(
    lambda module, args, outputs: seen.update(spans=outputs[0])
  )
  output = model(
    **tokenizer([realm_weights.QUESTION], return_tensors='pt'),
    answer_ids=tokenizer(
      list(realm_weights.ANSWERS), add_special_tokens=False
    ).input_ids,
    return_dict=True,
  )
  read = output.reader_output
  read.loss.backward()
  # The reader adds `relevance_score` in place.
  arrays = {
    **{name: seen[name] for name in (*_RETRIEVED, *_READER_INPUTS)},
    **{name: getattr(read, name) for name in _LOSSES},
    'best_scores': seen['spans'].amax(dim=1),
    'answer_ids': output.predicted_answer_ids,
  }
  return {
    **{f'open_qa.{name}': v.detach().numpy() for name, v in arrays.items()},
    **_gradients('open_qa', model),
  }


def main():
  """Writes the arrays; reals with the digits of float32."""
  parser = argparse.ArgumentParser()
  parser.add_argument('--output', required=True)
  arrays = {**_embedder(), **_joint(), **_open_qa()}
  lines = []
  for name, value in arrays.items():
    value = np.asarray(value)
    if value.dtype == np.float64:
      value = value.astype(np.float32)
    array = {'dtype': str(value.dtype), 'values': _numbers(value)}
    lines.append(f' {json.dumps(name)}: {json.dumps(array)}')
  with open(parser.parse_args().output, 'w') as file:
    file.write('{\n' + ',\n'.join(lines) + '\n}\n')


def _numbers(value):
  """Returns nested lists; reals in their shortest form."""
  if value.ndim:
    return [_numbers(each) for each in value]
  return float(str(value)) if value.dtype == np.float32 else value.item()


if __name__ == '__main__':
  main()
