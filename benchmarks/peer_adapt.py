"""Adapts a sentence encoder to articles with sentence-transformers.

Run by benchmarks/adapt_rivals.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_adapt.py \
      METHOD ENCODER ARTICLES OUTPUT PROCESSOR_SECONDS SEED

ARTICLES is JSON lines of {"sentences": [TEXT]}. Settings come from the
library's examples, or, for crops, from its default for pairs; METHOD is

tsdae (Wang et al. 2021): a decoder with the encoder's weights writes a sentence
  from the embedding of 40 % of its words; batches of 8, 3e-5, constant;
simcse (Gao et al. 2021): a sentence finds itself, both with other dropout;
  batches of 128, 32 wordpieces, 5e-5, scale 20;
crops (Contriever, Izacard et al. 2022): a span of an article finds another one
  of it, each of a tenth to a half of its words; batches of 64, 2e-5, scale 20.

All keep the encoder's own pooling, and autocast to bfloat16, the trainer's
argument `bf16`, on a processor that multiplies it. Rates rise for a tenth of
the seconds and then, except for tsdae, fall to 0.
"""

from collections.abc import Callable
import json
import logging
import pathlib
import random
import sys
import time
from typing import NamedTuple

import sentence_transformers
from sentence_transformers import losses
import torch

_Pair = tuple[str, str]
_WEIGHT_DECAY = 0.01
_MAX_NORM = 1.0
_IS_BFLOAT16 = 'amx_bf16' in pathlib.Path('/proc/cpuinfo').read_text()


class _Method(NamedTuple):
  make_pair: Callable[[random.Random, list[str]], _Pair]
  of_sentences: bool  # Examples are sentences, else articles.
  batch_size: int
  learning_rate: float
  max_length: int = 256


def _damaged(rng: random.Random, sentence: list[str]) -> _Pair:
  kept = [word for word in sentence if rng.random() > 0.6]
  return ' '.join(kept or [rng.choice(sentence)]), ' '.join(sentence)


def _twice(rng: random.Random, sentence: list[str]) -> _Pair:
  del rng  # The pair differs by dropout.
  return ' '.join(sentence), ' '.join(sentence)


def _crops(rng: random.Random, article: list[str]) -> _Pair:
  return _crop(rng, article), _crop(rng, article)


def _crop(rng: random.Random, words: list[str]) -> str:
  length = max(1, round(rng.uniform(0.1, 0.5) * len(words)))
  start = rng.randint(0, len(words) - length)
  return ' '.join(words[start : start + length])


_METHODS = {
  'tsdae': _Method(_damaged, True, 8, 3e-5),
  'simcse': _Method(_twice, True, 128, 5e-5, 32),
  'crops': _Method(_crops, False, 64, 2e-5),
}


def _examples(path: str, method: _Method) -> list[list[str]]:
  with open(path, encoding='utf-8') as file:
    articles = [json.loads(line)['sentences'] for line in file]
  if not method.of_sentences:
    articles = [[' '.join(sentences)] for sentences in articles]
  return [text.split() for texts in articles for text in texts if text.split()]


def _rate(name: str, done: float) -> float:
  """Returns the factor of the learning rate after a share of the seconds."""
  if name == 'tsdae':
    return 1.0
  return min(done / 0.1, (1 - done) / 0.9)


def _train(name: str, model, examples, secs: float, rng) -> int:
  """Trains for seconds of the processor; returns the number of steps."""
  method, num_steps = _METHODS[name], 0
  if name == 'tsdae':
    loss = losses.DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
  else:
    loss = losses.MultipleNegativesRankingLoss(model)
  decay = 0.0 if name == 'tsdae' else _WEIGHT_DECAY
  optimizer = torch.optim.AdamW(
    loss.parameters(), lr=method.learning_rate, weight_decay=decay
  )
  begun, size = time.process_time(), method.batch_size
  loss.train()
  while True:
    rng.shuffle(examples)
    for start in range(0, len(examples) - size + 1, size):
      done = (time.process_time() - begun) / secs
      if done >= 1:
        return num_steps
      optimizer.param_groups[0]['lr'] = method.learning_rate * _rate(name, done)
      pairs = [
        method.make_pair(rng, words) for words in examples[start : start + size]
      ]
      features = [model.tokenize(list(texts)) for texts in zip(*pairs)]
      with torch.autocast('cpu', torch.bfloat16, enabled=_IS_BFLOAT16):
        value = loss(features, None)
      optimizer.zero_grad()
      value.backward()
      torch.nn.utils.clip_grad_norm_(loss.parameters(), _MAX_NORM)
      optimizer.step()
      num_steps += 1
      if num_steps % 20 == 1:
        print(f'step {num_steps}: loss {value.item():.3f}', flush=True)


def main():
  logging.disable(logging.WARNING)
  name, encoder, articles, output, secs, seed = sys.argv[1:]
  torch.manual_seed(int(seed))
  method = _METHODS[name]
  model = sentence_transformers.SentenceTransformer(encoder, device='cpu')
  full_length, model.max_seq_length = model.max_seq_length, method.max_length
  examples = _examples(articles, method)
  rng = random.Random(int(seed))
  num_steps = _train(name, model, examples, float(secs), rng)
  print(f'{name}: {num_steps} steps, {num_steps * method.batch_size} examples')
  model.max_seq_length = full_length
  model.save(output)


if __name__ == '__main__':
  main()
