"""Embeds texts with sentence-transformers.

Run by benchmarks/encoders.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_encoders.py

Answers each JSON line {"directory", "texts", "output"} with {"length"}, the
longest length in wordpieces, or {"error"}. `texts` is a JSON file of
{"queries": [TEXT], "blocks": [[TITLE, TEXT]]}; `output` is the .npz file for
the embeddings.
"""

import json
import logging
import sys
import warnings

import numpy as np
import sentence_transformers


def _embed(request):
  model = sentence_transformers.SentenceTransformer(
    request['directory'], device='cpu'
  )
  with open(request['texts']) as file:
    texts = json.load(file)
  blocks = [tuple(pair) for pair in texts['blocks']]
  # Release 5.7 only looks for the prompt 'document'.
  names = [n for n in ('document', 'passage', 'corpus') if model.prompts.get(n)]
  np.savez(
    request['output'],
    queries=model.encode_query(texts['queries']),
    blocks=model.encode(blocks, prompt_name=names[0] if names else 'document'),
  )
  return {'length': int(min(model.max_seq_length, 1 << 20))}


def main():
  logging.disable(logging.WARNING)
  warnings.filterwarnings('ignore')
  for line in sys.stdin:
    try:
      answer = _embed(json.loads(line))
    except Exception as error:  # Any fault of a directory.
      answer = {'error': f'{type(error).__name__}: {error}'.split('\n')[0]}
    print(json.dumps(answer), flush=True)


if __name__ == '__main__':
  main()
