r"""A SavedModel against bin.evaluate: the same answers, and how fast.

  PYTHON benchmarks/saved_model_answers.py SAVED_MODEL PREDICTIONS [NUMBER]

PREDICTIONS is predictions.jsonl of bin.evaluate, with the same model, corpus,
and number of blocks read. Its first 500 questions are asked one by one, and in
batches. Needs nothing but tensorflow and tensorflow_text, so PYTHON may be that
of any environment; nothing of this project is imported.
"""

import itertools
import json
import statistics
import sys
import time

import tensorflow as tf
import tensorflow_text  # noqa: F401, registers ops.

_BATCH_SIZES = (1, 32)
_NUMBER = 500


def _row(answer, records, batch_size):
  """Returns how many answers agree, and the time that a call takes."""
  questions = [record['question'] for record in records]
  answer(questions=tf.constant(questions[:batch_size]))  # Traces, warms up.
  number_same, difference, secs, differing = 0, 0.0, [], []
  for start in range(0, len(records), batch_size):
    batch = records[start : start + batch_size]
    begun = time.perf_counter()
    found = answer(
      questions=tf.constant([record['question'] for record in batch])
    )
    secs.append(time.perf_counter() - begun)
    answers = [text.decode() for text in found['answers'].numpy()]
    probabilities = found['probabilities'].numpy().tolist()
    for record, text, share in zip(batch, answers, probabilities, strict=True):
      if text == record['prediction']:
        number_same += 1
        difference = max(difference, abs(share - record['probability']))
      else:
        differing.append((record['question'], record['prediction'], text))
  for question, expected, text in differing[:5]:
    print(f'{question!r}: {expected!r}, {text!r}', file=sys.stderr)
  return {
    'case': f'batches of {batch_size}',
    'ours': number_same,
    'peer': len(records),
    'ratio': number_same / len(records),
    'largest_difference': difference,
    'p50_ms': 1e3 * statistics.median(secs),
  }


def main():
  if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
  saved_model, predictions = sys.argv[1:3]
  number = int(sys.argv[3]) if len(sys.argv) == 4 else _NUMBER
  with open(predictions) as file:
    records = [json.loads(line) for line in itertools.islice(file, number)]
  model = tf.saved_model.load(saved_model)
  answer = model.signatures['serving_default']
  rows = [_row(answer, records, size) for size in _BATCH_SIZES]
  ours = {'realm_tf', 'official', 'orbit'} & set(sys.modules)
  if ours:
    sys.exit(f'The SavedModel needed {ours}.')
  for row in rows:
    print(row)
  print(
    json.dumps({'name': 'saved_model', 'unit': 'equal answers', 'rows': rows})
  )


if __name__ == '__main__':
  main()
