"""Articles from TensorFlow Datasets; the only import of tensorflow_datasets."""

from collections.abc import Iterator
import re

from realm_tf import errors

# How wiki40b marks up its texts.
_WIKI40B_TITLE = re.compile(r'\s*_START_ARTICLE_\n(.*)\n')
_WIKI40B_MARK = re.compile(r'_START_(SECTION|PARAGRAPH)_\n|_NEWLINE_')


def read(name: str) -> Iterator[tuple[str, str]]:
  """Yields (title, text) of every article of a dataset.

  Args:
    name: As in tfds.load, e.g. 'wikipedia/20230601.en'.

  Raises:
    UserError: It cannot be prepared, or has no articles.
  """
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  try:
    records = tfds.as_numpy(tfds.load(name, split='train'))
  except Exception as error:  # Dozens of types, for every user's mistake.
    raise errors.UserError(
      f"'tfds:{name}' must be a dataset that tfds.load can prepare; it says: "
      f'{str(error)[:200]}'
    ) from error
  for record in records:
    if 'text' not in record:
      raise errors.UserError(
        f"'tfds:{name}' must have articles with 'title' and 'text'; it has "
        f'{", ".join(record)}. Choose e.g. wikipedia/20230601.en.'
      )
    text = record['text'].decode('utf-8')
    if 'title' in record:
      title = record['title'].decode('utf-8')
    else:
      match = _WIKI40B_TITLE.match(text)
      title = match.group(1) if match else ''
      text = text[match.end() :] if match else text
    yield title, _WIKI40B_MARK.sub('\n', text).strip()
