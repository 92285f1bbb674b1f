"""What a person looks at before training: counts, lengths, random examples.

corpus or queries -> `Report` -> text for a terminal, or an HTML page
"""

from collections.abc import Mapping, Sequence
import html
import random
from typing import Any, NamedTuple

import numpy as np

from realm_tf.records import block_table
from realm_tf.records import query_table
from realm_tf.text import spans
from realm_tf.text import wordpiece

_NUM_BINS = 12
_BAR = 40  # Characters of the longest bar.
_BOLD, _MARK, _PLAIN = '\033[1m', '\033[30;43m', '\033[0m'


class Piece(NamedTuple):
  """Part of an example's text; `is_marked` if training may mask it."""

  text: str
  is_marked: bool = False


class Report(NamedTuple):
  """What is shown.

  Attributes:
    title: Of all.
    facts: Name -> value.
    histograms: Name -> numbers, one of each block or query.
    examples: (heading, pieces) of each.
  """

  title: str
  facts: Mapping[str, Any]
  histograms: Mapping[str, np.ndarray]
  examples: Sequence[tuple[str, Sequence[Piece]]]


def of_corpus(
  table: block_table.BlockTable, num_examples: int, seed: int
) -> Report:
  """Looks at the blocks of a corpus."""
  titles, bodies = table.lengths()
  ids = sorted(_sample(table.num_blocks, num_examples, seed))
  num_articles = int(table.article_rows[-1]) + 1
  facts = {
    'blocks': table.num_blocks,
    'articles with blocks': num_articles,
    'blocks per article': round(table.num_blocks / num_articles, 2),
    'wordpieces': int(bodies.sum()),
    'corpus fingerprint': table.manifest['corpus_fingerprint'],
    **_source_facts(table.manifest['source']),
  }
  examples = [
    (f'Block {i}: {title}', [Piece(text)])
    for i, title, text in zip(ids, table.titles(ids), table.texts(ids))
  ]
  histograms = {
    'wordpieces of a block, 3 specials included': titles + bodies + 3
  }
  return Report('Corpus', facts, histograms, examples)


def of_queries(
  queries: query_table.QueryTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  num_examples: int,
  seed: int,
) -> Report:
  """Looks at pre-training queries; salient spans are marked."""
  own = float(np.mean(queries.own_blocks != query_table.NO_BLOCK))
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
    'wordpieces of a query': queries.lengths(),
    'salient spans of a query': queries.num_spans(),
  }
  return Report('Queries', facts, histograms, examples)


def as_text(report: Report, colored: bool) -> str:
  """Returns `report` for a terminal; marks are [brackets] without color."""
  bold, mark, plain = (_BOLD, _MARK, _PLAIN) if colored else ('', '[', ']')
  end = plain if colored else ''
  lines = [f'{bold}{report.title}{end}']
  lines += [f'  {name}: {value}' for name, value in report.facts.items()]
  for name, values in report.histograms.items():
    lines += ['', f'{bold}{name}{end}, {_summary(values)}']
    for label, count, share in _bins(values):
      lines.append(f'  {label:>9} {"#" * round(_BAR * share):<{_BAR}} {count}')
  for heading, pieces in report.examples:
    text = ''.join(
      f'{mark}{piece.text}{plain}' if piece.is_marked else piece.text
      for piece in pieces
    )
    lines += ['', f'{bold}{heading}{end}', text]
  return '\n'.join(lines) + '\n'


def as_html(report: Report) -> str:
  """Returns `report` as a page that needs nothing from outside."""
  escape = lambda value: html.escape(str(value))
  parts = [f'<h1>{escape(report.title)}</h1><table>']
  for name, value in report.facts.items():
    parts.append(f'<tr><td>{escape(name)}<td>{escape(value)}')
  parts.append('</table>')
  for name, values in report.histograms.items():
    parts.append(f'<h2>{escape(name)}</h2><p>{_summary(values)}<table>')
    for label, count, share in _bins(values):
      parts.append(
        f'<tr><td>{label}<td><div class="bar" style="width:{20 * share:.2f}em">'
        f'</div><td>{count}'
      )
    parts.append('</table>')
  for heading, pieces in report.examples:
    parts.append(f'<h3>{escape(heading)}</h3><p>')
    for piece in pieces:
      text = escape(piece.text)
      parts.append(f'<mark>{text}</mark>' if piece.is_marked else text)
  return _PAGE.format(title=escape(report.title), body='\n'.join(parts))


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 1em auto }}
p {{ white-space: pre-line }}
td {{ padding: 0 .5em; vertical-align: top; overflow-wrap: anywhere }}
.bar {{ background: #47a; height: 1em }}
</style>
{body}
</html>
"""


def _sample(number, num_examples, seed) -> list[int]:
  return random.Random(seed).sample(range(number), min(number, num_examples))


def _source_facts(source: Mapping[str, Any]) -> dict[str, Any]:
  """Flattens what a manifest says about the input."""
  facts = {}
  for name, value in source.items():
    label = name.replace('_', ' ')
    if isinstance(value, Mapping):
      facts |= {f'{label}: {key}': number for key, number in value.items()}
    elif value is not None:
      facts[label] = ', '.join(value) if isinstance(value, list) else value
  return facts


def _mark(query: query_table.Query, tokenizer) -> list[Piece]:
  tokens = tokenizer.tokenize(query.text)
  pieces, position = [], 0
  for first, end in sorted(query.spans.tolist()):
    start, stop = spans.token_to_char_span(tokens, first, end)
    pieces += [
      Piece(query.text[position:start]),
      Piece(query.text[start:stop], True),
    ]
    position = stop
  return [*pieces, Piece(query.text[position:])]


def _summary(values: np.ndarray) -> str:
  low, middle, high = np.percentile(values, [5, 50, 95])
  return (
    f'mean {np.mean(values):.1f}, median {middle:.0f}, 5 % below {low:.0f}, '
    f'5 % above {high:.0f}'
  )


def _bins(values: np.ndarray) -> list[tuple[str, int, float]]:
  """Returns (label, count, count over the largest one) of equal bins."""
  low, high = int(values.min()), int(values.max())
  width = max(1, -(-(high - low + 1) // _NUM_BINS))
  counts = np.bincount((values - low) // width)
  return [
    (
      str(start) if width == 1 else f'{start}-{start + width - 1}',
      int(count),
      count / counts.max(),
    )
    for start, count in zip(range(low, high + 1, width), counts)
  ]
