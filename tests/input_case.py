"""A base class for tests of readers of articles, and texts with marks."""

from collections.abc import Iterable
from typing import Any, Optional

from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
  """Returns `text` with brackets around sorted spans of characters."""
  parts, at = [], 0
  for start, end in spans:
    parts += [text[at:start], '[', text[start:end], ']']
    at = end
  return ''.join([*parts, text[at:]])


class InputCase(parameterized.TestCase):
  def file(self, content: str | bytes, name: Optional[str] = None) -> str:
    """Returns the path of a new file."""
    data = content if isinstance(content, bytes) else content.encode()
    return self.create_tempfile(name, data).full_path

  def articles(self, *paths: str, **options: Any) -> list[sources.Article]:
    return list(sources.read_articles(paths, **options))

  def skipping(
    self, *paths: str, **options: Any
  ) -> tuple[list[sources.Article], dict[str, int]]:
    """Returns the articles, and the counts of skipped records by reason."""
    counts = counts_lib.Counts(skip_errors=True)
    articles = self.articles(*paths, counts=counts, **options)
    return articles, dict(counts.left_out)

  def assert_refused(self, path: str, message: str, **options: Any) -> None:
    """Checks that reading raises a UserError that begins with `path`."""
    with self.assertRaisesRegex(errors.UserError, f'^{path}.*{message}'):
      self.articles(path, **options)
