r"""BM25 with changed blocks: milliseconds, and its hits against a new BM25's.

  python -m benchmarks.live_words --corpus_dir=runs/corpus \
      --questions=runs/world/test_questions.jsonl

For each number of changed blocks, BM25 of the other blocks gets them as new
ones. `ours` is the CPU time of a question then, `peer` with a new BM25 of all.
"""

from collections.abc import Iterator
import json
import time
from typing import Any

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from realm_tf.data import block_table
from realm_tf.retrieval import retriever
from realm_tf.retrieval import word_search

_CORPUS_DIR = flags.DEFINE_string('corpus_dir', None, 'Corpus.', required=True)
_QUESTIONS = flags.DEFINE_string('questions', None, 'JSONL.', required=True)
_CHANGED = flags.DEFINE_multi_integer(
  'changed', [1, 100, 10_000], 'Numbers of changed blocks.'
)
_MOST_QUESTIONS, _K = 300, 5


def _best_ms(work) -> float:
  """Returns the least CPU time of three calls."""
  times = []
  for _ in range(3):
    begun = time.process_time()
    work()
    times.append(time.process_time() - begun)
  return 1e3 * min(times)


def _rows() -> Iterator[dict[str, Any]]:
  table = block_table.BlockTable.open(_CORPUS_DIR.value)
  with open(_QUESTIONS.value) as file:
    texts = [json.loads(line)['question'] for line in file][:_MOST_QUESTIONS]
  queries = retriever.of_texts(texts)
  of = lambda ids: (table.titles(ids.tolist()), table.texts(ids.tolist()))
  order = np.random.default_rng(0).permutation(table.num_blocks)
  again = word_search.over_table(table)
  expected = again.retrieve(queries, _K).block_ids
  peer = _best_ms(lambda: again.retrieve(queries, _K)) / len(texts)
  for number in _CHANGED.value:
    new, kept = np.sort(order[:number]), np.sort(order[number:])
    old = word_search.Bm25Retriever(*of(kept))
    live = word_search.LiveBm25(lambda old=old: old, len(kept))
    ids = np.arange(len(kept), len(order))
    live.put(ids, live.words(ids, *of(new)))
    found = live.retrieve(queries, _K).block_ids
    found = np.concatenate([kept, new])[found]
    one = ids[-1:]
    counted = live.words(one, *of(new[-1:]))
    yield printing.row(
      f'{len(new)} of {len(order)} blocks changed',
      _best_ms(lambda live=live: live.retrieve(queries, _K)) / len(texts),
      peer,
      count_one_ms=_best_ms(
        lambda live=live, one=one, new=new: live.words(one, *of(new[-1:]))
      ),
      put_one_ms=_best_ms(
        lambda live=live, one=one, words=counted: live.put(one, words)
      ),
      same_of_first_5=np.mean(
        [np.isin(a, b).mean() for a, b in zip(found, expected)]
      ),
    )


def main(_):
  printing.print_rows('live_words', 'ms a question', _rows())


if __name__ == '__main__':
  app.run(main)
