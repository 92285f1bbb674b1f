"""Reads WikiExtractor's files and removes the markup that is left in them."""

from collections.abc import Iterator
import re
from urllib import parse

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import wiki_templates as templates
from realm_tf.corpus import wikitext

Article = article_records.Article
# WikiExtractor --links writes these, with the title escaped as in a URL.
_ANCHOR = re.compile(r'<a href="([^"<>]*)">|</a>')
_BEGIN = '<doc id="'
_END = '</doc>'
# Markup that may span lines.
_LONG = ('[[', '{{', '{|', '<!--')
_LONG_TAGS = '|'.join(sorted(wikitext.HIDDEN_TAGS | wikitext.FORMULAS))
_LONG_TAG = re.compile(rf'<(?i:table|{_LONG_TAGS})\b')
_SHORT = ('<', ']]', '}}', templates.LOST)
_REMAINS = (
  ('Section::::', re.compile(r'^Section::::.*$', re.MULTILINE), ''),
  ('BULLET::::', re.compile(r'^(?:BULLET::::(?:- )?)+', re.MULTILINE), ''),
  ('[update', re.compile(r'\[ ?\[update\]{0,2}'), ''),  # From {{as of}}.
  # WikiExtractor replaces <math> and <code> by these.
  ('formula_', re.compile(r'formula_\d+'), templates.LOST),
  ('codice_', re.compile(r'codice_\d+'), templates.LOST),
)


def read_articles(path: str, counts: counts_lib.Counts) -> Iterator[Article]:
  """Yields each <doc ...> ... </doc>; a bad line spoils its whole article."""
  header, lines, problem, number = None, [], None, 0
  for number, line, bad in files.read_all_lines(path):
    words = line.rstrip()
    next_header = _header(words)
    if header and not next_header:
      problem = problem or bad
      is_end = words.endswith(_END)
      lines.append(words.removesuffix(_END) if is_end else line)
      if is_end and problem:
        counts.error(problem)
      elif is_end:
        yield clean(Article(header[1], ''.join(lines), header[0]))
      header = None if is_end else header
      continue
    if header:
      counts.error(_unclosed(path, number, header, 'another begins'))
    elif not next_header and (bad or words not in ('', _END)):
      must_begin = errors.UserError(
        f'{path}:{number} must begin an article, <doc id="..." ... '
        f'title="...">. Found {words[:40]!r}. Run WikiExtractor again.'
      )
      counts.error(bad or must_begin)
    header, lines, problem = next_header, [], bad
  if header:
    counts.error(_unclosed(path, number, header, 'the file ends'))


def _unclosed(
  path: str, number: int, header: tuple[str, str], found: str
) -> errors.UserError:
  return errors.UserError(
    f'{path}:{number} must be {_END}. Found that {found} inside article '
    f'{header[1]!r}. Run WikiExtractor again.'
  )


def clean(article: Article) -> Article:
  """Returns an article without marks, and with the titles it links to.

  Markup that may span lines stays, and makes it wikitext.
  """
  text = wikitext.unescape(article.text).strip()
  if '<a href=' in text:
    titles = (parse.unquote(href) for href in _ANCHOR.findall(text) if href)
    links = tuple(title.partition('#')[0] for title in titles)
    article = article._replace(links=links)
    text = _ANCHOR.sub('', text)
  first, _, rest = text.partition('\n')
  # Every block begins with the title, so the text does not repeat it.
  text = rest.strip() if first.strip() == article.title else text
  for hint, pattern, value in _REMAINS:
    if hint in text:
      text = pattern.sub(value, text)
  text = text.strip()
  if any(mark in text for mark in _LONG) or _LONG_TAG.search(text):
    return article._replace(text=text, is_wikitext=True)
  if any(mark in text for mark in _SHORT):
    lines = []
    for line in text.split('\n'):
      is_marked = any(mark in line for mark in _SHORT)
      cleaned = wikitext.without_marks(line) if is_marked else line
      # Drops a line that had only a tag.
      lines += [cleaned] if cleaned or not is_marked else []
    text = '\n'.join(lines).strip()
  return article._replace(text=text)


def _header(line: str) -> tuple[str, str] | None:
  """Returns (id, title) of '<doc id="1" url="..." title="A "B" C">'."""
  if not line.startswith(_BEGIN):
    return None
  article_id, quote, rest = line.removeprefix(_BEGIN).partition('"')
  _, title, rest = rest.partition(' title="')
  if not (quote and title and line[-1] == '>'):
    return None
  return article_id, wikitext.unescape(rest.rpartition('"')[0])
