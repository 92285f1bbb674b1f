"""Writes and reads small MediaWiki dumps for tests."""

from collections.abc import Iterator, Sequence
from typing import Optional
from xml.sax import saxutils

from absl.testing import absltest

from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources

_HEAD = (
  '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n'
  '<siteinfo><sitename>W</sitename><namespaces>'
  '<namespace key="0" case="first-letter"/>'
  '<namespace key="1" case="first-letter">Talk</namespace>'
  '</namespaces></siteinfo>\n'
)


def dump(*pages: str) -> str:
  """Returns a dump of `pages`; broken ones give a broken dump."""
  return _HEAD + ''.join(pages) + '</mediawiki>\n'


def page(
  title: str,
  markup: str,
  page_id: int = 1,
  namespace: int = 0,
  redirect: Optional[str] = None,
  revisions: Sequence[str] = (),
) -> str:
  """Returns a <page>; `revisions` follow the revision with `markup`."""
  texts = ''.join(
    f'<revision><id>{i + 1}</id><text>{saxutils.escape(text)}</text></revision>'
    for i, text in enumerate([markup, *revisions])
  )
  to = f'<redirect title="{redirect}"/>' if redirect else ''
  return (
    f'<page><title>{saxutils.escape(title)}</title><ns>{namespace}</ns>'
    f'<id>{page_id}</id>{to}{texts}</page>\n'
  )


def read(
  test: absltest.TestCase,
  xml: str,
  counts: counts_lib.Counts = counts_lib.STRICT,
) -> Iterator[sources.Article]:
  """Yields the articles of a dump, rendered by one worker process."""
  path = test.create_tempfile(content=xml).full_path
  return sources.read_articles(
    [path], 'mediawiki', counts=counts, num_workers=1
  )
