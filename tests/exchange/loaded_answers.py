"""Answers with SavedModels; imports only tensorflow and tensorflow_text.

[{"path", "batches": [[question]]}] on stdin -> [[outputs of each batch]]
"""

import json
import sys

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers ops.


def _as_json(values):
  """Returns a tensor of strings or numbers as lists."""
  if values.dtype != tf.string:
    return values.numpy().tolist()
  flat = [text.decode() for text in values.numpy().reshape(-1)]
  if values.shape.rank == 1:
    return flat
  width = values.shape[1]
  return [flat[i : i + width] for i in range(0, len(flat), width)]


def main():
  results = []
  for request in json.load(sys.stdin):
    model = tf.saved_model.load(request['path'])
    answer = model.signatures['serving_default']
    outputs = [
      answer(questions=tf.constant(batch, tf.string))
      for batch in request['batches']
    ]
    results.append(
      [
        {name: _as_json(values) for name, values in output.items()}
        for output in outputs
      ]
    )
  # Loading must import neither realm_tf nor its dependencies.
  ours = {'realm_tf', 'official', 'orbit', 'scann'} & set(sys.modules)
  if ours:
    raise RuntimeError(f'The SavedModel needed {ours}.')
  sys.stdout.write(json.dumps(results) + '\n')


if __name__ == '__main__':
  main()
