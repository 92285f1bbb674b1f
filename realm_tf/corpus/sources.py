"""Streams articles and tagged sentences from files, BEIR folders and datasets.

Files are JSON, CSV, Parquet, WikiExtractor's output, MediaWiki dumps, documents
or texts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
import re
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf import json_text
from realm_tf import machine
from realm_tf.corpus import article_records
from realm_tf.corpus import beir
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import documents
from realm_tf.corpus import files
from realm_tf.corpus import markup
from realm_tf.corpus import mediawiki
from realm_tf.corpus import record_fields
from realm_tf.corpus import records
from realm_tf.corpus import wikiextractor
from realm_tf.text import paragraphs

_WIKIEXTRACTOR, _MEDIAWIKI, _TEXT = _OWN = 'wikiextractor', 'mediawiki', 'text'
FORMATS = ('auto', *records.FORMATS, *_OWN, *documents.FORMATS)
# Beginning of a file's first line -> its format.
_BEGINNINGS = {
  '<doc ': _WIKIEXTRACTOR,
  '<mediawiki': _MEDIAWIKI,
  '<?xml': _MEDIAWIKI,
}
_ANY_KEYS = article_records.Keys()
# WikiExtractor --json writes these; KILT has its marks, too.
_WIKIEXTRACTOR_KEYS = {'id', 'url', 'title', 'text'}
_KILT_KEY = 'wikipedia_title'
_TAGGED = {'text': str, 'spans': list[tuple[json_text.COUNT, json_text.COUNT]]}
_BATCH_CHARACTERS = 1_000_000  # Bounds the memory of one tokenizer call.
_LIST_TITLE = re.compile(r'(lists?|index|outline) of ', re.IGNORECASE)
_IS_TEXT = re.compile(r'\.te?xt(\.(gz|bz2|xz))?$', re.IGNORECASE)
# Neither white space nor an invisible character, such as U+200B.
_VISIBLE = re.compile('[^\\s\0-\x1f\x7f\xad\u200b-\u200f\u2060-\u2064\ufeff]')
_DISAMBIGUATION_TITLE = re.compile(r'.*\(disambiguation\)', re.IGNORECASE)


Article = article_records.Article
_Placed = tuple[str, Article]  # Place: file and line, or title.


def read_articles(
  inputs: Sequence[str],
  format: str = 'auto',  # pylint: disable=redefined-builtin
  drop_lists: bool = False,
  counts: counts_lib.Counts = counts_lib.STRICT,
  keys: article_records.Keys = _ANY_KEYS,
  first_number: int = 0,
  find_known: Callable[[str], str] = lambda article_id: '',
  num_workers: int = machine.cores(),
) -> Iterator[Article]:
  """Returns the articles of all `inputs`, in order, in plain text.

  Args:
    inputs: Files, directories (searched recursively), globs, 'beir:DIR',
      'tfds:NAME' or 'hf_disk:DIR'.
    format: One of FORMATS; 'auto' recognizes each file. With 'text' each file
      is an article and its name the title. Pages of documents have ids.
    drop_lists: Whether to leave out lists, indices, outlines and
      disambiguation pages, as ORQA does.
    first_number: Number of the first article; articles without an id get their
      number.
    find_known: Maps an id to the place that has it already, or ''.
    num_workers: Number of processes that render wikitext and documents.
  """
  items = expand(inputs, format)

  def read(counts: counts_lib.Counts) -> Iterator[_Placed]:
    files = documents.read(items, format, counts, num_workers)
    return _numbered(files, format, keys, first_number, counts)

  return _distinct(
    mediawiki.rendered(read(counts), counts, num_workers),
    counts,
    drop_lists,
    find_known,
    # No error precedes a repeated id.
    lambda name: next(w for w, a in read(counts_lib.Counts()) if a[2] == name),
  )


def _numbered(
  items: Iterable[tuple[str, list[Article]]],
  format: str,  # pylint: disable=redefined-builtin
  keys: article_records.Keys,
  number: int,
  counts: counts_lib.Counts,
) -> Iterator[_Placed]:
  """Yields (place, article); an article without an id gets its number."""
  for item, pages in items:
    if pages:
      yield from ((page.article_id, page) for page in pages)
      continue
    for where, article in _read_item(item, format, keys, counts):
      article_id = article.article_id or str(number)
      yield where, article._replace(article_id=article_id)
      number += 1


def _distinct(
  articles: Iterable[_Placed],
  counts: counts_lib.Counts,
  drop_lists: bool,
  find_known: Callable[[str], str],
  find_first: Callable[[str], str],
) -> Iterator[Article]:
  """Yields and counts articles with a text and a new id; reports the others."""
  seen: set[int] = set()  # Hashes of ids.
  for where, article in articles:
    name, reason = article.article_id, _drop_reason(article, drop_lists)
    if reason:
      counts.drop(reason, file=where)
      continue
    before = find_known(name)
    if not before and hash(name) not in seen:
      seen.add(hash(name))
      counts.keep('articles')
      if not article.title:
        counts.keep(counts_lib.UNTITLED)
      yield article
      continue
    if not before:
      before = 'an earlier article' if counts.skips else find_first(name)
    counts.error(
      errors.UserError(
        'Articles must have different ids; the default id is the number. Found '
        f'{name!r:.40} at {where} and at {before}. Change one, or --remove the '
        'old one of --append.'
      ),
      counts_lib.REPEATED,
    )


def count(
  item: str,
  format: str,  # pylint: disable=redefined-builtin
  keys: article_records.Keys,
  counts: counts_lib.Counts,
) -> int:
  """Returns the number of articles in a file or dataset, without rendering.

  A document has 0: its articles have ids.
  """
  if documents.recognize(item, format):
    return 0
  return sum(1 for _ in _read_item(item, format, keys, counts))


def expand(inputs: Sequence[str], format: str = 'auto') -> list[str]:  # pylint: disable=redefined-builtin
  """Returns the files and the datasets that `inputs` name."""
  if format not in FORMATS:
    raise errors.UserError(
      f'--format must be one of {", ".join(FORMATS)}. Found {format!r}.'
    )
  items = []
  for item in inputs:
    if item.startswith(datasets.PREFIXES):
      items.append(item)
    elif item.startswith(beir.PREFIX):
      items.append(beir.corpus_file(item))
    else:
      items += files.find_files(item)
  return items


def in_batches(
  articles: Iterable[Article], max_articles: int | None = None
) -> Iterator[list[Article]]:
  """Yields lists of articles, bounded in number and in characters."""
  batch, num_characters = [], 0
  for article in articles:
    batch.append(article)
    num_characters += len(article.text)
    if num_characters >= _BATCH_CHARACTERS or len(batch) == max_articles:
      yield batch
      batch, num_characters = [], 0
  if batch:
    yield batch


def _drop_reason(article: Article, drop_lists: bool) -> str:
  """Returns why an article is left out; '' if it is not."""
  if drop_lists and _LIST_TITLE.match(article.title):
    return 'list'
  if drop_lists and _DISAMBIGUATION_TITLE.match(article.title):
    return 'disambiguation'
  return '' if _VISIBLE.search(article.text) else counts_lib.EMPTY


def _read_item(
  item: str, name: str, keys: article_records.Keys, counts: counts_lib.Counts
) -> Iterator[_Placed]:
  """Yields (place, article) of a file or dataset in the format `name`."""

  def parse(where: str, record: Any) -> Article:
    record = records.as_object(where, record, names)
    article = article_records.parse(where, record, keys)
    if record.keys() >= _WIKIEXTRACTOR_KEYS or _KILT_KEY in record:
      return wikiextractor.clean(article)
    title, text = map(markup.plain_text, article[:2])
    if markup.has_marks(text):
      counts.keep(counts_lib.MARKED)
    return article._replace(title=title, text=paragraphs.unwrapped(text))

  names = keys.names
  try:
    if item.startswith(datasets.PREFIXES):
      found = datasets.read(item, names)
    else:
      name = _recognize(item, keys) if name == 'auto' else name
      if name in _READERS:
        for article in _READERS[name](item, counts):
          yield f'{item} ({article.title!r:.60})', article
        return
      found = records.read(item, name, names, counts)
    texts = {*keys.of('text')}.difference(record_fields.ARTICLE_GROUPS)
    whole = (
      part
      for place, record in found
      for part in record_fields.expand(
        place, record, texts, record_fields.ARTICLE_GROUPS
      )
    )
    yield from counts.parsed(whole, parse)
  except errors.UserError as error:  # Skips the rest of the file.
    counts.error(error, file=item)


def _recognize(path: str, keys: article_records.Keys) -> str:
  format, first = records.recognize(path, keys.of('text'))  # pylint: disable=redefined-builtin
  if format or not first:
    return format or records.JSONL
  for beginning, name in _BEGINNINGS.items():
    if first.startswith(beginning):
      return name
  if _IS_TEXT.search(path):
    return _TEXT
  raise errors.UserError(
    f'{path} must be JSON, CSV with a header, Parquet, WikiExtractor output, a '
    f'MediaWiki dump, PDF, DOCX, HTML, .md or .txt. Found {first[:40]!r}. Give '
    '--format (--format=text: a file is an article) or --text_key, convert the '
    'file, or leave it out by --on_error=skip.'
  )


def _read_text(path: str, counts: counts_lib.Counts) -> Iterator[Article]:
  """Yields a whole file as one article, with its name as the title."""
  del counts  # No part of a file can be skipped.
  text = ''.join(line for _, line in files.read_lines(path))
  yield Article(documents.name_of(path), paragraphs.unwrapped(text.strip()), '')


_READERS: dict[str, Callable[[str, counts_lib.Counts], Iterator[Article]]] = {
  _WIKIEXTRACTOR: wikiextractor.read_articles,
  _MEDIAWIKI: mediawiki.read_articles,
  _TEXT: _read_text,
}


class TaggedSentence(NamedTuple):
  """A sentence with its salient spans, (start, end) in characters.

  A dataset with other ids than the corpus has the article's title instead.
  """

  text: str
  spans: tuple[tuple[int, int], ...]
  article_id: str = ''
  title: str = ''


def read_tagged(
  inputs: Sequence[str], counts: counts_lib.Counts = counts_lib.STRICT
) -> Iterator[TaggedSentence]:
  """Returns the sentences of all `inputs`; reports missing files at once.

  Args:
    inputs: Files, directories and globs of lines {"text": str, "spans":
      [[start, end]], "id": optional}, or 'tfds:NAME'.
  """
  items = expand(inputs)

  def sentences() -> Iterator[TaggedSentence]:
    for item in items:
      if item.startswith(datasets.PREFIXES):
        for title, text, spans in datasets.read_tagged_sentences(item):
          counts.keep('sentences')
          yield TaggedSentence(text, tuple(spans), title=title)
      else:
        lines = records.read_json_lines(item, counts)
        for _, sentence in counts.parsed(lines, _parse_tagged):
          counts.keep('sentences')
          yield sentence

  return sentences()


def _parse_tagged(where: str, record: dict[str, Any]) -> TaggedSentence:
  json_text.check(record, _TAGGED, where, 'Correct it.')
  text, spans = record['text'], record['spans']
  for start, end in spans:
    if not start < end <= len(text):
      raise errors.UserError(
        f'{where} must have spans [start, end] within its text of {len(text)} '
        f'characters. Found {[start, end]}. Correct it.'
      )
  return TaggedSentence(
    text,
    tuple((start, end) for start, end in spans),
    record_fields.text_id(where, record.get('id')),
  )
