r"""Compares imported encoders with sentence-transformers.

  bash benchmarks/peers.sh
  python -m benchmarks.encoders DIR [DIR...]

Embeds queries and blocks with each Hugging Face directory DIR, with its import
and with the export of that. Prints the largest difference of a value, and the
largest 1 - cosine, or the reason why a directory is refused.
"""

import functools
import json
import os
import sys
import tempfile

from absl import app
from absl import logging
import numpy as np
import tensorflow as tf

from benchmarks import processes
from realm_tf import errors
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.exchange import hugging_face
from realm_tf.exchange import hugging_face_export
from realm_tf.exchange import model_writing
from realm_tf.index import model_files
from realm_tf.model import realm_model

_SHORT = [
  'The capital of France is Paris.',
  'who wrote "Fidelio" (in 1805)?',
  'Čapek, Müller & naïve café: ½ price… 5 ft² – ok',
  '東京 is 日本 の 首都',
  'A',
  '',
  "don't! it's 3.14% #hash @you a_b",
  'ß ς Å ﬁne ™',
]
_NUM_TEXTS = 200
_BATCH = 16


def _texts():
  """Returns queries and blocks with titles; some are very long."""
  texts = [
    f'{_SHORT[i % len(_SHORT)]} {" ".join(_SHORT[: i % 5])}'.strip()
    for i in range(_NUM_TEXTS - 4)
  ]
  texts += [f'{" ".join(_SHORT)} ' * n for n in (5, 12, 40)] + ['word ' * 700]
  half = len(texts) // 2
  blocks = [[_SHORT[i % 6], text] for i, text in enumerate(texts[half:])]
  return {'queries': texts[:half] + texts[-4:], 'blocks': blocks}


def _import(directory, output_dir):
  found = hugging_face.load(directory)
  model_writing.write(found, output_dir)
  return model_files.open_model(output_dir, [realm_model.EMBEDDER])


def _embed(opened, texts, length):
  """Returns the embeddings of queries and blocks, cut to `length`."""
  model, tokenizer = opened.model, opened.tokenizer
  embedder = model.config.embedder
  query_tokens = length - len(embedder.query_prompt.split())
  block_tokens = length - len(embedder.block_prompt.split())

  def batches(columns, at_most):
    """Yields rows of about the same length and their packed wordpieces."""
    ids = [tokenizer.token_ids_batch(column) for column in columns]
    order = np.argsort([sum(map(len, row)) for row in zip(*ids, strict=True)])
    for start in range(0, len(order), _BATCH):
      rows = order[start : start + _BATCH]
      first, second = [
        tf.constant(
          sampling.trim(
            sampling.pad_rows([column[row] for row in rows], length), 1
          )
        )
        for column in ids
      ] + [None] * (2 - len(ids))
      special_ids = tokenizer.special_ids
      yield rows, joining.pack_longest(first, second, *special_ids, at_most)

  def embed_all(embed, columns, at_most):
    parts = list(batches(columns, at_most))
    values = np.concatenate([embed(tokens) for _, tokens in parts])
    return values[np.argsort(np.concatenate([rows for rows, _ in parts]))]

  return {
    'queries': embed_all(
      lambda tokens: model.query_embedder(model.with_query_prompt(tokens)),
      [texts['queries']],
      query_tokens,
    ),
    'blocks': embed_all(
      model.embed_blocks, list(zip(*texts['blocks'], strict=True)), block_tokens
    ),
  }


class _Peer:
  """sentence-transformers in a process of its own."""

  def __init__(self, texts, directory):
    self._directory = directory
    self._texts = os.path.join(directory, 'texts.json')
    with open(self._texts, 'w') as file:
      json.dump(texts, file)
    self._worker = processes.Worker(
      [processes.peer_python(), 'benchmarks/peer_encoders.py']
    )

  def embed(self, directory):
    """Returns embeddings and the longest length; ValueError if it fails."""
    output = os.path.join(self._directory, 'peer.npz')
    request = {'directory': directory, 'texts': self._texts, 'output': output}
    answer = self._worker.ask(request)
    if 'error' in answer:
      raise ValueError(answer['error'])
    with np.load(output) as arrays:
      return dict(arrays), answer['length']


def _difference(ours, theirs, is_normalized):
  """Returns the largest difference, and the largest 1 - cosine."""
  worst = cosine = 0.0
  for name, values in ours.items():
    expected = theirs[name]
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    units = expected / lengths
    own = values / np.linalg.norm(values, axis=1, keepdims=True)
    cosine = max(cosine, float(np.max(1 - np.sum(units * own, axis=1))))
    expected = units if is_normalized else expected
    worst = max(worst, float(np.abs(values - expected).max()))
  return worst, cosine


def _row(directory, peer, texts, work_dir):
  output_dir = os.path.join(work_dir, 'model')
  try:
    opened = _import(directory, output_dir)
  except errors.UserError as error:
    return f'refused: {error}'
  embedder = opened.config.model.embedder
  try:
    theirs, length = peer.embed(directory)
  except ValueError as error:
    return f'peer: {error}'
  length = min(length, opened.config.model.embedder_bert.max_positions)
  embed = functools.cache(lambda length: _embed(opened, texts, length))
  worst, cosine = _difference(embed(length), theirs, embedder.normalize)
  row = f'{worst:.1e} {cosine:.1e} {embedder.head}'
  exported = os.path.join(work_dir, 'exported')
  hugging_face_export.export(output_dir, 'query', exported)
  try:
    theirs, length = peer.embed(exported)
    worst, cosine = _difference(embed(length), theirs, False)
  except ValueError as error:
    return f'{row} | the export: {error}'
  return f'{row} | exported {worst:.1e} {cosine:.1e}, length {length}'


def main(argv):
  logging.set_verbosity(logging.ERROR)
  if processes.peer_python() is None:
    sys.exit(
      'The peers must be installed. Found none. Run benchmarks/peers.sh.'
    )
  texts = _texts()
  with tempfile.TemporaryDirectory() as directory:
    peer = _Peer(texts, directory)
    for source in argv[1:]:
      with tempfile.TemporaryDirectory() as work_dir:
        name = os.path.basename(source.rstrip('/'))
        print(f'{name:14} {_row(source, peer, texts, work_dir)}', flush=True)


if __name__ == '__main__':
  app.run(main)
