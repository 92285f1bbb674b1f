"""Reports on a corpus or queries: counts, lengths, random examples."""

from collections.abc import Mapping, Sequence
import random
from typing import Any, NamedTuple

import numpy as np

from realm_tf.records import block_table
from realm_tf.records import null_block
from realm_tf.records import query_table
from realm_tf.rundir import examples as examples_lib
from realm_tf.text import wordpiece

_NUM_BINS = 12
_BAR = 40  # Characters of the longest bar.
_BOLD, _MARK, _PLAIN = '\033[1m', '\033[30;43m', '\033[0m'

Pieces = Sequence[tuple[str, bool]]


class Histogram(NamedTuple):
  """Mean and percentiles of integers, and (label, count) of equal bins."""

  summary: str
  bins: list[tuple[str, int]]


class Report(NamedTuple):
  """Report on a corpus or queries.

  Attributes:
    examples: (heading, pieces) of each example; a piece is a part of the text
      and whether training may mask it.
  """

  title: str
  facts: Mapping[str, Any]
  histograms: Mapping[str, Histogram]
  examples: Sequence[tuple[str, Pieces]]


def of_corpus(
  table: block_table.BlockTable, num_examples: int, seed: int
) -> Report:
  """Reports on the blocks of a corpus."""
  titles, bodies = table.lengths()
  ids = sorted(_sample(table.num_blocks, num_examples, seed))
  facts = {
    'blocks': table.num_blocks,
    'articles with blocks': table.num_articles,
    'blocks per article': round(table.num_blocks / table.num_articles, 2),
    'wordpieces': int(bodies.sum()),
    'corpus fingerprint': table.manifest['corpus_fingerprint'],
    **_source_facts(table.manifest['source']),
  }
  examples = [
    (f'Block {i}: {title}', [(text, False)])
    for i, title, text in zip(ids, table.titles(ids), table.texts(ids))
  ]
  histograms = {
    'wordpieces of a block, 3 specials included': histogram(titles + bodies + 3)
  }
  return Report('Corpus', facts, histograms, examples)


def of_queries(
  queries: query_table.QueryTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  num_examples: int,
  seed: int,
) -> Report:
  """Reports on pre-training queries; salient spans are marked."""
  own = float(np.mean(queries.own_blocks != null_block.ID))
  dropped = queries.manifest['num_dropped']
  facts = {
    'queries': queries.num_queries,
    'queries with a block of their own': f'{own:.1%}',
    'masking': queries.manifest['masking'],
    **{f'left out: {k.replace("_", " ")}': n for k, n in dropped.items()},
    **_source_facts(queries.manifest['source']),
  }
  ids = sorted(_sample(queries.num_queries, num_examples, seed))
  examples = [(f'Query {i}', _mark(queries.query(i), tokenizer)) for i in ids]
  histograms = {
    'wordpieces of a query': histogram(queries.lengths()),
    'salient spans of a query': histogram(queries.num_spans()),
  }
  return Report('Queries', facts, histograms, examples)


def as_text(report: Report, colored: bool) -> str:
  """Returns `report` for a terminal; without color, [brackets] mark spans."""
  bold, mark, plain = (_BOLD, _MARK, _PLAIN) if colored else ('', '[', ']')
  end = plain if colored else ''
  lines = [f'{bold}{report.title}{end}']
  lines += [f'  {name}: {value}' for name, value in report.facts.items()]
  for name, (summary, bins) in report.histograms.items():
    lines += ['', f'{bold}{name}{end}, {summary}']
    most = max(count for _, count in bins)
    for label, count in bins:
      lines.append(
        f'  {label:>9} {"#" * round(_BAR * count / most):<{_BAR}} {count}'
      )
  for heading, pieces in report.examples:
    text = ''.join(
      f'{mark}{text}{plain}' if is_marked else text
      for text, is_marked in pieces
    )
    lines += ['', f'{bold}{heading}{end}', text]
  return '\n'.join(lines) + '\n'


def _sample(number: int, num_examples: int, seed: int) -> list[int]:
  return random.Random(seed).sample(range(number), min(number, num_examples))


def _source_facts(source: Mapping[str, Any]) -> dict[str, Any]:
  """Flattens the 'source' of a manifest."""
  facts = {}
  for name, value in source.items():
    label = name.replace('_', ' ')
    if isinstance(value, Mapping):
      parts = _source_facts(value)
      facts |= {f'{label}: {key}': part for key, part in parts.items()}
    elif isinstance(value, list):
      facts[label] = ', '.join(map(str, value))
    elif value is not None:
      facts[label] = value
  return facts


def _mark(
  query: query_table.Query, tokenizer: wordpiece.WordpieceTokenizer
) -> Pieces:
  tokens = tokenizer.tokenize(query.text)
  spans = [tokens.characters(*span) for span in sorted(query.spans.tolist())]
  return examples_lib.cut_at(query.text, spans)


def histogram(values: np.ndarray) -> Histogram:
  """Returns the histogram of integers [N]."""
  low, high = int(values.min()), int(values.max())
  width = max(1, -(-(high - low + 1) // _NUM_BINS))
  counts = np.bincount((values - low) // width)
  starts = range(low, high + 1, width)
  labels = [str(s) if width == 1 else f'{s}-{s + width - 1}' for s in starts]
  p5, p50, p95 = np.percentile(values, [5, 50, 95])
  return Histogram(
    f'mean {np.mean(values):.1f}, median {p50:.0f}, 5 % below {p5:.0f}, 5 % '
    f'above {p95:.0f}',
    list(zip(labels, counts.tolist(), strict=True)),
  )
