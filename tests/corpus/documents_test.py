"""Tests for realm_tf.corpus.documents and its four adapters."""

import io
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import docx
from docx.oxml import ns

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import documents
from realm_tf.corpus import sources
from tests import input_case


def _pdf(*pages, title=''):
  r"""Returns a PDF of pages of lines (x, y, text); \1 is the glyph 'fi'."""
  kids = ' '.join(f'{5 + 2 * i} 0 R' for i in range(len(pages)))
  objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    f'<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>',
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica'
    '/Encoding<</Differences[1/fi]>>>>',
    f'<</Title({title})>>',
  ]
  for i, lines in enumerate(pages):
    text = '\n'.join(
      f'BT /F 10 Tf 1 0 0 1 {x} {y} Tm ({words}) Tj ET' for x, y, words in lines
    )
    fonts = f'/Resources<</Font<</F 3 0 R>>>>/Contents {6 + 2 * i} 0 R'
    objects.append(f'<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]{fonts}>>')
    objects.append(f'<</Length {len(text)}>>stream\n{text}\nendstream')
  body, places = '%PDF-1.4\n', '0000000000 65535 f \n'
  for i, each in enumerate(objects, 1):
    places += f'{len(body):010} 00000 n \n'
    body += f'{i} 0 obj\n{each}\nendobj\n'
  size = len(objects) + 1
  end = f'trailer\n<</Size {size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n'
  table = f'xref\n0 {size}\n{places}{end}{len(body)}\n%%EOF\n'
  return (body + table).encode()


def _encrypted(pdf):
  """Returns a PDF whose password is unknown: its hashes are made up."""
  made_up = '/R 2/P -4' + ''.join(f'/{name}<{"5a" * 32}>' for name in 'OU')
  ids = f'/ID[<{"00" * 16}><{"00" * 16}>]'
  lock = f'trailer\n<</Encrypt<</Filter/Standard/V 1{made_up}>>{ids}'
  return pdf.replace(b'trailer\n<<', lock.encode())


def _column(x, *texts, top=700):
  return [(x, top - 12 * i, text) for i, text in enumerate(texts)]


_LINE = [(72, 700, 'Old.')]


class PdfTest(input_case.InputCase):
  def _texts(self, *pages):
    found = self.articles(self.file(_pdf(*pages), 'a.pdf'))
    return [article.text.split('\n') for article in found]

  def test_a_page_is_an_article(self):
    path = self.file(_pdf(_LINE, [(72, 700, 'New.')], title='A tale'), 'a.pdf')
    self.assertEqual(
      self.articles(path),
      [
        sources.Article('A tale, page 1', 'Old.', f'{path}#page=1'),
        sources.Article('A tale, page 2', 'New.', f'{path}#page=2'),
      ],
    )

  @parameterized.parameters(
    ('', 'My file'),
    ('Microsoft Word - x.doc', 'My file'),
    ('plan.tex', 'My file'),
    ('12', 'My file'),
    ('Untitled love: a life', 'My file'),
    ('The  sea', 'The sea'),
  )
  def test_a_title_is_sensible(self, title, expected):
    path = self.file(_pdf(_LINE, title=title), 'My_file.pdf')
    self.assertEqual(self.articles(path)[0].title, f'{expected}, page 1')

  def test_headers_and_footers_are_removed(self):
    pages = [
      [
        *[
          (72, 760, f'Chapter {"One" if n < 4 else "Two"}'),
          (300, 40, f'{n} of 5'),
        ],
        *_column(72, f'I ran {n**2} miles.', 'It is red.', f'I ate {n // 2}.'),
      ]
      for n in range(1, 6)
    ]
    pages[4][0] = (72, 760, 'The end of all')  # At the headers' height.
    for n, (line,) in enumerate(self._texts(*pages), 1):
      self.assertEqual(line, f'I ran {n**2} miles. It is red. I ate {n // 2}.')

  def test_two_pages_keep_the_lines_that_they_share(self):
    self.assertEqual(self._texts(_LINE, _LINE), [['Old.']] * 2)

  def test_lines_are_joined_and_paragraphs_stay(self):
    lines = _column(72, 'The \x01rst of the inter-', 'national well-')
    lines += _column(72, 'known club of ex-', 'Prime ministers.', top=676)
    lines += _column(72, 'Two well-known men', 'came.', top=640)  # A gap.
    lines += [(84, 616, 'An indented line'), (72, 604, 'follows.')]
    lines += _column(72, '1. An item', '2. Another', top=592)
    lines += _column(320, 'The next column', 'goes on.')
    self.assertEqual(
      *self._texts(lines),
      [
        'The first of the international well-known club of ex-Prime ministers.',
        *[
          'Two well-known men came.',
          'An indented line follows.',
          '1. An item',
        ],
        '2. Another The next column goes on.',
      ],
    )

  @parameterized.parameters(
    ('Salt) Tj 24 0 Td (water', 'Salt water'),  # Only a gap parts the words.
    ('Sea . . . . . . . . 7', 'Sea 7'),
  )
  def test_a_line_has_single_spaces(self, drawn, expected):
    self.assertEqual(self._texts([(72, 700, drawn)]), [[expected]])


class SectionsTest(input_case.InputCase):
  def _sections(self, content, name):
    path = self.file(content, name)
    found = self.articles(path)
    self.assertEqual(
      [article.article_id for article in found],
      [f'{path}#section={i + 1}' for i in range(len(found))],
    )
    return [(article.title, article.text) for article in found]

  def test_markdown(self):
    text = (
      'Before *all*,\n[see](http://x.y).\n\n# Birds\n![picture](a.png)\n\n'
      '## Crows\n\n- black\n  ones\n- `caw`\n\n<p align="center">Wise</p>\n\n'
      '| Name | Age |\n|---|---|\n| Jim | 7 |\n\n```\na = 1\nb = 2\n```\n\n'
      '## Gulls\n### Young\nGrey.\n\n# Fish\nWet.\n'
    )
    expected = [
      ('my birds', 'Before all, see.'),
      (
        'my birds, Birds, Crows',
        'black ones\ncaw\nWise\nName | Age\nJim | 7\na = 1\nb = 2',
      ),
      ('my birds, Birds, Gulls, Young', 'Grey.'),
      ('my birds, Fish', 'Wet.'),
    ]
    self.assertEqual(self._sections(text, 'my_birds.md'), expected)
    front = '---\nlayout: x\ntitle: "Wings"\n---\n'
    self.assertEqual(
      self._sections(front + text, 'b.markdown')[1][0], 'Wings, Birds, Crows'
    )
    self.assertEqual(
      self._sections('# Wings\nTwo.\n## Of bats\nDark.', 'c.md'),
      [('Wings', 'Two.'), ('Wings, Of bats', 'Dark.')],
    )

  def test_html(self):
    body = ''.join(
      f'<p>{text}</p>' for text in ['The sea is deep, and it is very old.'] * 3
    )
    page = (
      '<!-- saved --><html><head><title>The\nsea - My site</title></head><body>'
      f'<nav><a href="/">Home</a></nav><h1>The sea</h1>{body}'
      '<h2>Waves<a href="#w">¶</a></h2><p>They are <b>high</b>\nand <i>wide</i>'
      '.</p><dl><dt>surf</dt><dd>The line of foam.</dd></dl>'
      '<table><tr><td>Name of the wave</td><td>Height above the sea</td></tr>'
      '<tr><td>The Big One of 1899</td><td>9 metres</td></tr></table>'
      '<script>alert(1)</script></body></html>'
    )
    self.assertEqual(
      self._sections(page, 'misnamed.pdf'),
      [
        (
          'The sea - My site',
          '\n'.join(['The sea is deep, and it is very old.'] * 3),
        ),
        (
          'The sea - My site, Waves',
          'They are high and wide.\nsurf: The line of foam.\n'
          'Name of the wave | '
          'Height above the sea\nThe Big One of 1899 | 9 metres',
        ),
      ],
    )

  def test_docx(self):
    document = docx.Document()
    document.core_properties.title = 'Stones'
    document.styles.add_style('Mine', 1).base_style = document.styles[
      'Heading 2'
    ]
    document.add_paragraph('Contents 1', 'TOC Heading')
    document.add_heading('Granite', 1)
    added = document.add_paragraph('It is ')._p
    run = added.makeelement(ns.qn('w:ins'))
    added.append(run)
    run.append(document.add_paragraph('hard.').runs[0]._r)
    document.add_paragraph('Uses', 'Mine')
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = 'floor', 'wall'
    file = io.BytesIO()
    document.save(file)
    self.assertEqual(
      self._sections(file.getvalue(), 'a.docx'),
      [
        ('Stones, Granite', 'It is hard.'),
        ('Stones, Granite, Uses', 'floor | wall'),
      ],
    )


class FolderTest(input_case.InputCase):
  def _folder(self, **contents):
    folder = pathlib.Path(self.create_tempdir().full_path)
    for name, content in contents.items():
      path = folder / name.replace('__', '.')
      path.write_bytes(
        content if isinstance(content, bytes) else content.encode()
      )
    return folder

  def test_a_folder_of_many_formats(self):
    folder = self._folder(
      a__jsonl='{"text": "One."}',
      b__md='Two.',
      c__pdf=_pdf([]),
      d__txt='Three.',
    )
    os.symlink(folder, folder / 'e')
    articles, left_out = self.skipping(str(folder))
    self.assertEqual(
      [(article.text, article.article_id) for article in articles],
      [('One.', '0'), ('Two.', f'{folder}/b.md#section=1'), ('Three.', '1')],
    )
    self.assertEqual(left_out, {'pdf without text': 1})

  def test_files_without_text_are_left_out_counted_and_named(self):
    folder = self._folder(
      a__pdf=_encrypted(_pdf(_LINE)), b__pdf=_pdf([], []), c__pdf='',
      d__pdf=b'\x89PNG\r\n', e__svg='<svg>', f__md='# Only a heading',
    )  # fmt: skip
    counts = counts_lib.Counts()
    self.assertEmpty(self.articles(str(folder), counts=counts))
    self.assertEqual(
      counts.summary(),
      f' Left out: 1 empty file ({folder}/c.pdf), 1 encrypted pdf '
      f'({folder}/a.pdf), 1 markdown without text ({folder}/f.md), 1 pdf '
      f'without text ({folder}/b.pdf), 2 picture ({folder}/d.pdf, '
      f'{folder}/e.svg).',
    )

  def test_a_blank_page_is_named(self):
    path = self.file(_pdf(_LINE, [], _LINE), 'a.pdf')
    counts = counts_lib.Counts()
    self.assertLen(self.articles(path, counts=counts), 2)
    self.assertEqual(counts.summary(), f' Left out: 1 empty ({path}#page=2).')

  @parameterized.parameters(
    ('pdf', _pdf(_LINE)[:99]),
    ('docx', b'PK\x03\x04word/'),
    ('md', b'\xe9t\xe9'),
  )
  def test_a_broken_file_stops_or_is_left_out(self, ending, content):
    path = self.file(content, f'a.{ending}')
    self.assert_refused(path, ' must be a readable .* Found .*--on_error=skip')
    counts = counts_lib.Counts(skip_errors=True)
    self.assertEmpty(self.articles(path, counts=counts))
    self.assertEqual(counts.summary(), f' Left out: 1 unreadable ({path}).')

  def test_what_takes_too_long_or_too_much_memory_is_left_out(self):
    path = self.file(_pdf(_LINE), 'a.pdf')
    with mock.patch.object(documents, '_MAX_SECONDS', 1e-3):
      articles, left_out = self.skipping(path)
    self.assertEqual(
      (articles, left_out), ([], {'file that took over 0.001 s': 1})
    )

  def test_a_missing_package_is_a_mistake_with_its_command(self):
    path = self.file('# A\nB', 'a.md')
    with mock.patch('importlib.util.find_spec', return_value=None):
      for skips in (False, True):
        with self.assertRaisesRegex(
          errors.UserError, r"pip install 'realm_tf\[files\]'"
        ):
          self.articles(path, counts=counts_lib.Counts(skips))


if __name__ == '__main__':
  absltest.main()
