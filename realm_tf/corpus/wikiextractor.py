"""Reads what WikiExtractor writes."""

from collections.abc import Iterator
import html
import re

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import link_titles

_DOC = re.compile(r'<doc id="([^"]*)".*? title="(.*)"[^"]*>\s*$')
_LEFTOVER_TAG = re.compile(r'^</?\w+>\n', re.MULTILINE)  # E.g. '</dl>'.


def read_articles(
  path: str, counts: counts_lib.Counts
) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
  """Yields (title, text, id, titles of links) of each <doc ...> ... </doc>."""
  header, lines, number = None, [], 0
  for number, line in files.read_lines(path, counts):
    if header is None:
      if not line.strip():
        continue
      header, lines = _DOC.match(line), []
      if not header:
        counts.error(
          errors.UserError(
            f'{path}:{number} must begin an article, <doc id="..." ... '
            f'title="...">; it reads {line.strip()[:40]!r}. Run WikiExtractor '
            'again.'
          )
        )
    elif line.rstrip() == '</doc>':
      yield _article(header, lines)
      header = None
    else:
      lines.append(line)
  if header is not None:
    counts.error(
      errors.UserError(
        f'{path}:{number} must be </doc>; the file ends inside of article '
        f'{header.group(2)!r}. Run WikiExtractor again.'
      )
    )


def _article(
  header: re.Match, lines: list[str]
) -> tuple[str, str, str, tuple[str, ...]]:
  title = html.unescape(header.group(2))
  text = html.unescape(_LEFTOVER_TAG.sub('', ''.join(lines))).strip()
  text, links = link_titles.cut_anchors(text)
  first, _, rest = text.partition('\n')
  # Drops the title from the text; every block has it anyway.
  text = rest.strip() if first.strip() == title else text
  return title, text, header.group(1), links
