"""Streams articles from files, BEIR folders and datasets.

JSONL, WikiExtractor's output, MediaWiki dumps, folders of texts -> articles
"""

from collections.abc import Iterable, Iterator, Sequence
import itertools
import os
import re
from typing import NamedTuple, Optional

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import files
from realm_tf.corpus import link_titles
from realm_tf.corpus import mediawiki
from realm_tf.corpus import wikiextractor

FORMATS = ('auto', 'jsonl', 'wikiextractor', 'mediawiki', 'text', 'tfds')
_BATCH_CHARACTERS = 1_000_000  # Bounds the memory of one tokenizer call.
_LIST_TITLE = re.compile(r'(lists?|index|outline) of ', re.IGNORECASE)
_DISAMBIGUATION_TITLE = re.compile(r'.*\(disambiguation\)', re.IGNORECASE)


class Article(NamedTuple):
  """One document of the knowledge corpus.

  Attributes:
    title: Plain text.
    text: Text, one paragraph a line.
    article_id: Id in the source, else the number of the article, from 0.
    is_wikitext: Whether `text` has MediaWiki's markup; see `plain`.
    links: Titles that the source links to, beside those in wikitext; see
      `linked_titles`.
  """

  title: str
  text: str
  article_id: str
  is_wikitext: bool = False
  links: tuple[str, ...] = ()


def read_articles(
  inputs: Sequence[str],
  format: str = 'auto',  # pylint: disable=redefined-builtin
  drop_lists: bool = False,
  counts: Optional[counts_lib.Counts] = None,
  first_number: int = 0,
) -> Iterator[Article]:
  """Returns the articles of all `inputs`, in order; some still need `plain`.

  Args:
    inputs: Files, directories (searched recursively), globs, 'beir:DIR' (see
      `beir`), 'tfds:NAME' or 'hf_disk:DIR' (`datasets.read_articles`).
    format: One of FORMATS; 'auto' looks at each file's first line. With 'text'
      each file is an article and its name the title.
    drop_lists: Whether to leave out lists, indices, outlines and
      disambiguation pages, like ORQA.
    counts: Counts articles, kept and left out; may skip bad records.
    first_number: Number of the first article, the id of one without an id.

  Raises:
    UserError: A missing file, at once, or a bad record, while reading.
  """
  counts = counts or counts_lib.Counts()
  items = expand(inputs, format)
  articles = itertools.chain.from_iterable(
    _read_item(item, format, counts) for item in items
  )
  numbered = (
    article if article.article_id else article._replace(article_id=str(number))
    for number, article in enumerate(articles, first_number)
  )
  return _counted(numbered, drop_lists, counts)


def expand(inputs: Sequence[str], format: str = 'auto') -> list[str]:  # pylint: disable=redefined-builtin
  """Returns the files and datasets of `inputs`; see `read_articles`."""
  if format not in FORMATS:
    raise errors.UserError(
      f'--format must be one of {", ".join(FORMATS)}; got {format!r}.'
    )
  items = []
  for item in inputs:
    if item.startswith(datasets.PREFIXES):
      items.append(item)
    elif format == 'tfds':
      raise errors.UserError(
        f"With --format=tfds, --input must be 'tfds:NAME'; got {item}."
      )
    elif item.startswith(beir.PREFIX):
      items.append(beir.corpus_file(item))
    else:
      items += files.find_files(item)
  return items


def plain(article: Article) -> Article:
  """Returns `article` without markup: the slow half of reading a dump."""
  if not article.is_wikitext:
    return article
  return article._replace(
    text=mediawiki.plain_text(article.text), is_wikitext=False
  )


def linked_titles(article: Article) -> list[str]:
  """Returns the titles that an article links to, as `link_titles.normal`."""
  found = link_titles.in_markup(article.text) if article.is_wikitext else []
  return [*map(link_titles.normal, article.links), *found]


def in_batches(
  articles: Iterable[Article], max_articles: Optional[int] = None
) -> Iterator[list[Article]]:
  """Groups articles lazily, bounded in number and in characters."""
  batch, num_characters = [], 0
  for article in articles:
    batch.append(article)
    num_characters += len(article.text)
    if num_characters >= _BATCH_CHARACTERS or len(batch) == max_articles:
      yield batch
      batch, num_characters = [], 0
  if batch:
    yield batch


def _counted(articles, drop_lists, counts) -> Iterator[Article]:
  for article in articles:
    if drop_lists and _LIST_TITLE.match(article.title):
      counts.drop('list')
    elif drop_lists and _DISAMBIGUATION_TITLE.match(article.title):
      counts.drop('disambiguation')
    else:
      counts.keep('articles')
      yield article


def _read_item(item: str, name: str, counts) -> Iterator[Article]:
  if item.startswith(datasets.PREFIXES):
    return itertools.starmap(Article, datasets.read_articles(item))
  return _read_file(item, name, counts)


def _read_file(path, name, counts) -> Iterator[Article]:
  try:
    if name == 'auto':
      name = _recognize(path)
    yield from _READERS[name](path, counts)
  except errors.UserError as error:  # The rest of the file is lost.
    counts.error(error)


def _recognize(path: str) -> str:
  # The reader reports lines that are not UTF-8.
  lines = files.read_lines(path, counts_lib.Counts(skip_errors=True))
  first = next((line for _, line in lines if line.strip()), '{')
  first = first.lstrip('\ufeff \t')
  for beginning, name in (
    ('<doc ', 'wikiextractor'),
    ('{', 'jsonl'),
    ('<mediawiki', 'mediawiki'),
    ('<?xml', 'mediawiki'),
  ):
    if first.startswith(beginning):
      return name
  raise errors.UserError(
    f'{path} must be JSONL, WikiExtractor output or a MediaWiki dump; it '
    f'begins with {first.strip()[:40]!r}. Give --format (--format=text: a file '
    'is an article), or convert the file.'
  )


def _read_jsonl(path, counts) -> Iterator[Article]:
  for where, record in files.read_json_lines(path, counts):
    if '_id' in record:  # BEIR's, which may leave out the title.
      record = {'title': '', **record, 'id': record['_id']}
    bad = [k for k in ('title', 'text') if not isinstance(record.get(k), str)]
    if bad:
      counts.error(
        errors.UserError(
          f"{where} must have '{bad[0]}', a string; it has "
          f'{record.get(bad[0])!r:.40}. An article is {{"title": ..., "text": '
          '..., "id": optional}.'
        )
      )
      continue
    article_id = record.get('id')
    yield Article(
      record['title'],
      record['text'],
      '' if article_id is None else str(article_id),
    )


def _read_wikiextractor(path, counts) -> Iterator[Article]:
  for title, text, article_id, links in wikiextractor.read_articles(
    path, counts
  ):
    yield Article(title, text, article_id, links=links)


def _read_mediawiki(path, counts) -> Iterator[Article]:
  with files.reading(path) as file:
    for page in mediawiki.read_pages(file, path):
      if page.redirect:
        counts.on_redirect(page.title, page.redirect)
      if page.drop_reason:
        counts.drop(page.drop_reason)
      else:
        yield Article(page.title, page.markup, page.page_id, is_wikitext=True)


def _read_text(path, counts) -> Iterator[Article]:
  """Reads a whole file as an article; its name is the title."""
  text = ''.join(line for _, line in files.read_lines(path, counts)).strip()
  name = os.path.basename(path)
  while os.path.splitext(name)[1] in ('.txt', '.gz', '.bz2'):
    name = os.path.splitext(name)[0]
  if text:
    yield Article(name.replace('_', ' '), text, '')
  else:
    counts.drop('empty')


_READERS = {
  'jsonl': _read_jsonl,
  'wikiextractor': _read_wikiextractor,
  'mediawiki': _read_mediawiki,
  'text': _read_text,
}
