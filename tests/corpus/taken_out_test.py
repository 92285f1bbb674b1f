"""Tests for realm_tf.corpus.taken_out."""

from absl.testing import absltest

from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.corpus import taken_out

_SPLITS = [
  taken_out.Split('train', 0, 2, 1 / 4, 100, 100),
  taken_out.Split('dev', 1, 1, 1 / 2, 100, 100),
  taken_out.Split('test', 1, 9, 1 / 2, 3, 100),
]
# Four paragraphs of each article, with two questions each.
_PARTS = [
  [sources.Article(title, 'text', f'{title}{n}') for title in titles
   for n in range(4)]
  for titles in ('ABC', 'DEF')
]  # fmt: skip
_QUESTIONS = [
  questions_lib.Question(f'{n}?', ('a',), gold_id=paragraph.article_id)
  for part in _PARTS
  for paragraph in part
  for n in range(2)
]


class TakenOutTest(absltest.TestCase):
  def test_no_article_is_in_two_splits(self):
    for seed in range(5):
      articles, files = taken_out.divide(
        _PARTS, _QUESTIONS, _SPLITS, seen={'B2'}, seed=seed
      )
      kept = {article.article_id for article in articles}
      titles = {
        split.name: {
          question.gold_id[0]
          for kind in taken_out.KINDS
          for question in files[split.name + kind]
        }
        for split in _SPLITS
      }
      self.assertEqual(titles['train'], {'A', 'C'})  # B was seen.
      self.assertLen(titles['dev'], 1)
      self.assertEqual(titles['dev'] | titles['test'], {*'DEF'})
      self.assertLen(kept, 2 * 3 + 3 * 2)
      self.assertLen(files['train_taken_out'], 2 * 2)
      self.assertLen(files['test'], 3)
      for name, questions in files.items():
        is_out = name.endswith('_taken_out')
        for question in questions:
          self.assertEqual(question.gold_id not in kept, is_out)
          self.assertEqual(question.is_impossible, is_out)
          self.assertEqual(question.answers == (), is_out)


if __name__ == '__main__':
  absltest.main()
