"""Tests for realm_tf.demo.texts."""

import json
import pathlib
import re
import tempfile

from absl.testing import absltest

from realm_tf.demo import texts
from tests import source_tree


def _rows(path):
  return [json.loads(line) for line in path.read_text('utf-8').splitlines()]


class TextsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.directory = pathlib.Path(directory, 'demo')
    cls.names = texts.unpack(str(cls.directory))

  def test_each_file_has_the_lines_that_its_page_says(self):
    page = (source_tree.ROOT / 'realm_tf/demo/README.md').read_text('utf-8')
    said = {}
    for names, numbers in re.findall(r'^\| (`.*?) \| ([\d, ]+) \|', page, re.M):
      counts = [int(n.replace(',', '')) for n in numbers.split(', ')]
      said |= dict(zip(re.findall('`(.*?)`', names), counts, strict=True))
    found = {
      name.removesuffix('.jsonl'): len(_rows(self.directory / name))
      for name in self.names
    }
    self.assertEqual(found, said)

  def test_questions_fit_the_articles(self):
    ids = {}
    for name in 'articles', 'practice_articles':
      rows = _rows(self.directory / f'{name}.jsonl')
      ids[name] = {row['id'] for row in rows}
      self.assertLen(ids[name], len(rows))
    self.assertNoCommonElements(*ids.values())
    asked = {}
    for split in 'train', 'dev', 'test':
      rows = _rows(self.directory / f'{split}_questions.jsonl')
      asked[split] = {row['gold_id'] for row in rows}
      self.assertLessEqual(asked[split], ids['articles'])
      self.assertTrue(all(row['answers'] for row in rows))
      for kind in 'missing', 'foreign':
        rows = _rows(self.directory / f'{kind}_{split}_questions.jsonl')
        self.assertFalse(any(row['answers'] for row in rows))
    self.assertNoCommonElements(asked['train'], asked['dev'] | asked['test'])
    self.assertNoCommonElements(asked['dev'], asked['test'])

  def _change(self, *names):
    """Returns both answers, and the question with its new ones, or None."""
    self.changed = pathlib.Path(self.create_tempdir().full_path, 'changed')
    if texts.change_fact(names, str(self.changed)):
      (question,) = _rows(self.changed / 'question.jsonl')
      return json.loads((self.changed / 'changed.json').read_text()), question
    return None

  def test_one_article_states_the_new_answer_twice(self):
    # Algiers is Algeria's largest city, too; Mongolia's neighbours are a list.
    names = 'none', 'country/DZ/capital', 'country/MN/neighbours'
    self.assertIsNone(self._change(*names))
    changed, question = self._change(*names, 'country/AM/languages')
    self.assertEqual(changed['old_answer'], 'Armenian')
    self.assertEqual(question['answers'], ['French'])
    articles = _rows(self.directory / 'articles.jsonl')
    found = _rows(self.changed / 'articles.jsonl')
    for old, new in zip(articles, found, strict=True):
      if new['id'] == 'country/AM':
        self.assertEqual(new['text'].count('French'), 2)
        new['text'] = new['text'].replace('French', 'Armenian')
      self.assertEqual(new, old)

  def test_each_answer_has_the_new_value(self):
    changed, question = self._change('city/2174003/capital_distance')
    self.assertEqual(
      (changed['old_answer'], changed['new_answer']), ('944', '852')
    )
    self.assertEqual(question['answers'], ['852', '852 km'])


if __name__ == '__main__':
  absltest.main()
