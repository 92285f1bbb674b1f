r"""An index after some articles came and others went, and one built anew.

  python -m benchmarks.changed_corpus --input=FILES --model_dir=MODEL

Ours is bin.build_index --base, the peer the same without --base, both after
bin.make_blocks --append and --remove, in seconds of wall time. Then sentences
of the new articles are searched in the index before and after, and so are those
of the removed ones: the share is given of those with a block of their article
among the first five.
"""

import os
import sys
import tempfile
from typing import NamedTuple

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from benchmarks import processes
from realm_tf.answering import loading
from realm_tf.config import config_files
from realm_tf.corpus import sources
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.text import sentences
from realm_tf.world import generation

_INPUT = flags.DEFINE_multi_string('input', None, 'Articles.', required=True)
_MODEL_DIR = flags.DEFINE_string(
  'model_dir', None, 'Model directory.', required=True
)
_NUM_ADDED = flags.DEFINE_integer('num_added', 1000, 'Articles that come.')
_NUM_REMOVED = flags.DEFINE_integer('num_removed', 500, 'Articles that go.')
_QUICK = flags.DEFINE_bool('quick', False, 'The first 120 articles.')
_NUM_QUERIES, _TOP = 500, 5


class _Articles(NamedTuple):
  """Two JSONL files, of what is there and of what comes, and their contents."""

  old: str
  new: str
  old_articles: list[sources.Article]
  new_articles: list[sources.Article]


def _split(directory: str) -> _Articles:
  articles = [
    article
    for article in map(sources.plain, sources.read_articles(_INPUT.value))
    if sentences.split_sentences(article.text)
  ]
  num_added = _NUM_ADDED.value
  if _QUICK.value:
    articles, num_added = articles[:120], 20
  order = np.random.default_rng(0).permutation(len(articles))
  articles = [articles[i] for i in order]
  paths = [os.path.join(directory, name) for name in ('old.jsonl', 'new.jsonl')]
  parts = articles[:-num_added], articles[-num_added:]
  for path, part in zip(paths, parts, strict=True):
    generation.write_articles(part, path)
  return _Articles(*paths, *parts)


def _run(name: str, *flags_: str) -> float:
  """Runs a binary; returns its seconds."""
  return processes.run([sys.executable, '-m', f'bin.{name}', *flags_]).wall_secs


def _build(directory: str, corpus: str, name: str, *flags_: str) -> float:
  return _run(
    'build_index',
    f'--model_dir={_MODEL_DIR.value}',
    f'--corpus_dir={directory}/{corpus}',
    f'--output_dir={directory}/{name}',
    *flags_,
  )


def _version(directory: str, name: str) -> str:
  (step,) = os.listdir(os.path.join(directory, name))
  return os.path.join(directory, name, step)


def _share_found(
  directory: str, corpus: str, index: str, articles: list[sources.Article]
) -> float:
  """Returns the percentage of sentences whose article is found."""
  loaded = loading.load(
    _MODEL_DIR.value,
    os.path.join(directory, corpus),
    os.path.join(directory, index),
  )
  rng = np.random.default_rng(0)
  texts, wanted = [], []
  for row in rng.integers(0, len(articles), _NUM_QUERIES):
    spans = sentences.split_sentences(articles[row].text)
    start, end = spans[rng.integers(len(spans))]
    texts.append(articles[row].text[start:end])
    wanted.append(articles[row].article_id)
  ids = loaded.tokenizer.token_ids_batch(texts)
  width = loaded.config.lengths.query_tokens - 2
  found = loaded.retriever(sampling.pad_rows(ids, width), _TOP).block_ids
  hits = [
    article_id in loaded.table.article_ids(row[row >= 0])
    for row, article_id in zip(found, wanted, strict=True)
  ]
  return 100 * float(np.mean(hits))


def _present(
  directory: str, corpus: str, articles: list[sources.Article]
) -> list[sources.Article]:
  """Returns those that have blocks: others are lists and the like."""
  table = block_table.BlockTable.open(os.path.join(directory, corpus))
  return [a for a in articles if len(table.find_article(a.article_id))]


def _rows(directory: str):
  articles = _split(directory)
  vocabulary = os.path.join(_MODEL_DIR.value, 'vocab.txt')
  length = config_files.read(_MODEL_DIR.value).lengths.block_tokens
  seconds = {
    'make_blocks': _run(
      'make_blocks',
      f'--input={articles.old}',
      f'--vocab_file={vocabulary}',
      f'--max_block_wordpieces={length}',
      f'--output_dir={directory}/old',
    ),
    'build_index': _build(directory, 'old', 'old_index'),
  }
  gone = _present(directory, 'old', articles.old_articles)
  gone = gone[: 10 if _QUICK.value else _NUM_REMOVED.value]
  seconds['make_blocks --append --remove'] = _run(
    'make_blocks',
    f'--append={directory}/old',
    f'--input={articles.new}',
    '--remove=' + ','.join(article.article_id for article in gone),
    f'--output_dir={directory}/new',
  )
  come = _present(directory, 'new', articles.new_articles)
  base = _version(directory, 'old_index')
  ours = _build(directory, 'new', 'new_index', f'--base={base}')
  peer = _build(directory, 'new', 'new_index_again')
  yield {
    'case': 'build_index --base',
    'ours': ours,
    'peer': peer,
    'ratio': peer / ours,
    'before': seconds,
  }
  for case, part in (
    ('sentences of added articles', come),
    ('sentences of removed articles', gone),
  ):
    yield {
      'case': f'{case}, % found before (peer) and after',
      'ours': _share_found(directory, 'new', 'new_index', part),
      'peer': _share_found(directory, 'old', 'old_index', part),
      'ratio': None,
    }


def main(_):
  with tempfile.TemporaryDirectory() as directory:
    printing.print_rows('changed_corpus', 'seconds', _rows(directory))


if __name__ == '__main__':
  app.run(main)
