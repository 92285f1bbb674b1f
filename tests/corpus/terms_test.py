"""Tests for realm_tf.corpus.terms."""

import collections
import itertools
import math
import random

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms


def _count(*texts):
  """Returns counts of articles of one block each."""
  return terms.count([text] for text in texts)


def _spans(counts, size):
  """Returns span -> its index in level `size`."""
  singles = counts.levels[0].places
  return {
    ' '.join(counts.words[i] for i in singles[place : place + size]): i
    for i, place in enumerate(counts.levels[size - 1].firsts)
  }


def _found(*terms_and_numbers, filler='the {} is near'):
  """Returns terms of 200 articles; some hold a term after their 8 words."""
  texts = [filler.format(f'word{i}') for i in range(200)]
  for term, rows in terms_and_numbers:
    for row in rows:
      texts[row] += f', {term} '
  return _found_in([[text] for text in texts])


def _found_in(articles):
  counts = terms.count(articles)
  scores = terms.find(articles).scores
  return {
    span
    for size in range(1, 5)
    for span, i in _spans(counts, size).items()
    if np.isfinite(scores[size - 1][i])
  }


class CountTest(absltest.TestCase):
  def test_residual_idf_by_hand(self):
    # Both words occur 4 times in 4 documents, so by chance in
    # 4 (1 - 1/e) = 2.528 documents. One is in 2 documents, the other in 4.
    counts = _count('a a a b', 'a b', 'b', 'b')
    number = _spans(counts, 1)
    residual = terms.residual_idf(counts.levels[0], 4)
    np.testing.assert_allclose(
      residual[[number['a'], number['b']]],
      [math.log(3.528 / 3), math.log(3.528 / 5)],
      rtol=1e-3,
    )

  def test_counts_and_pmi_are_those_of_a_direct_count(self):
    rng = random.Random(0)
    texts = [
      ' '.join(rng.choices('abcde,', [5, 3, 2, 2, 1, 2], k=30))
      for _ in range(120)
    ]
    counts = _count(*texts)
    number, documents = collections.Counter(), collections.defaultdict(set)
    for row, text in enumerate(texts):
      for part in text.split(','):
        words = part.split()
        for size, start in itertools.product(range(1, 5), range(30)):
          if start + size <= len(words):
            span = ' '.join(words[start : start + size])
            number[span] += 1
            documents[span].add(row)
    total = sum(n for span, n in number.items() if ' ' not in span)
    for size, pmi in enumerate(terms.pmi_of(counts), 1):
      found = _spans(counts, size)
      recurring = {
        span
        for span, rows in documents.items()
        if len(rows) > 1 and len(span.split()) == size
      }
      self.assertEqual(set(found), recurring)
      for span, i in found.items():
        level = counts.levels[size - 1]
        self.assertEqual(level.counts[i], number[span])
        self.assertEqual(level.documents[i], len(documents[span]))
        whole = number[span] / total
        expected = min(
          (math.log(whole / part) for part in _cuts(span, number, total)),
          default=0,
        )
        self.assertAlmostEqual(pmi[i], expected)

  def test_of_few_articles_blocks_are_the_documents(self):
    counts = terms.count([['red car', 'red car'], ['blue']])
    self.assertEqual(counts.num_documents, 3)
    self.assertIn('red car', _spans(counts, 2))
    many = [['red car', 'red car']] + [['blue']] * 99
    counts = terms.count(many)
    self.assertEqual(counts.num_documents, 100)
    self.assertEmpty(_spans(counts, 2))

  def test_no_text_has_no_terms(self):
    for articles in ([], [['']], [['. , ;']]):
      self.assertEmpty(_found_in(articles))


def _cuts(span, number, total):
  """Yields prod p(part) of all cuts in two parts or more."""
  words = span.split()
  for ends in itertools.product([False, True], repeat=len(words) - 1):
    if any(ends):
      text = words[0] + ''.join(
        f'{"|" if end else " "}{word}' for end, word in zip(ends, words[1:])
      )
      yield math.prod(number[part] / total for part in text.split('|'))


class FindTest(absltest.TestCase):
  def test_rare_recurring_spans_are_terms(self):
    found = _found(
      ('boundary layer', [1, 5, 7]),
      ('flutter', [2, 2, 2, 9, 9]),
      ('library of congress', [11, 12]),
    )
    # 'of' is a function word, and begins or ends no term.
    ours = {'boundary layer', 'library of congress', 'flutter'}
    self.assertContainsSubset(ours, found)
    self.assertNoCommonElements(['of', 'library of', 'of congress'], found)

  def test_spans_of_one_article_and_of_many_are_no_terms(self):
    # 11 of 200 articles are more than 5 %; 'the' and 'near' are in all.
    found = _found(('jet engine', [3] * 5), ('test section', range(50, 61)))
    self.assertEmpty(found)
    self.assertIn('test section', _found(('test section', range(50, 60))))

  def test_words_that_meet_by_chance_are_no_phrase(self):
    # 800 words of the filler, 36 others. Of 18 'wing' 2 are before one of 18
    # 'root': ln(2/836 / (18/836)^2) = ln 5.2 = 1.6 is below 2. Of 4 'rudder'
    # 2 are: ln(2/822 / (4/822 * 18/822)) = ln 22.8 = 3.1.
    rows = range(0, 48, 3)
    chance = [('wing', rows), ('root', rows), ('wing root', [1, 2])]
    self.assertNotIn('wing root', _found(*chance))
    some = [('rudder', [7, 8]), ('root', rows), ('rudder root', [1, 2])]
    self.assertIn('rudder root', _found(*some))

  def test_common_words_of_other_languages_are_no_terms(self):
    found = _found(
      ('Deutsche Bücherei', [1, 5, 7]),
      ('nähe der Elbe', [4, 9]),
      filler='der {} steht bei',
    )
    self.assertContainsSubset(['deutsche bücherei', 'nähe der elbe'], found)
    self.assertNoCommonElements(['der', 'nähe der', 'der elbe'], found)

  def test_characters_are_words_without_spaces(self):
    found = _found(('在北京大学学', [1, 5]), ('北京大学', [7]))
    self.assertIn('北 京 大 学', found)
    self.assertNotIn('京', found)

  def test_marks_and_lines_end_spans_but_joints_do_not(self):
    found = _found(
      ('alpha, beta', [1, 5]),
      ('gamma\ndelta', [2, 6]),
      ("moore's law", [3, 7]),
      ('two-stage 1,000 rpm', [4, 8]),
      ('1,000 2.5', [9, 10]),
    )
    self.assertNoCommonElements(
      ['alpha beta', 'gamma delta', '1,000 2.5'], found
    )
    self.assertContainsSubset(["moore 's law", 'two-stage 1,000 rpm'], found)


# Span -> score; 'a' and 'd b' only begin spans.
_SCORES = {
  'a': -np.inf,
  'b': 1.0,
  'c': 3.0,
  'd': 0.5,
  'a b': 2.0,
  'd b': -np.inf,
  'a b c': 2.5,
  'd b a': 4.0,
}


def _terms(scores):
  """Returns the terms of a few spans; all words must have a score."""
  words = sorted(span for span in scores if ' ' not in span)
  numbers = {word: i for i, word in enumerate(words)}
  keys, values = [], [np.array([scores[word] for word in words], np.float32)]
  for size in range(2, 5):
    spans = [span for span in scores if len(span.split()) == size]
    found = {}
    for span in spans:
      head, _, last = span.rpartition(' ')
      found[numbers[head] * len(words) + numbers[last]] = span
    keys.append(np.array(sorted(found), np.int64))
    in_order = [found[key] for key in sorted(found)]
    numbers |= {span: i for i, span in enumerate(in_order)}
    values.append(np.array([scores[span] for span in in_order], np.float32))
  return terms.Terms(words, keys, values)


def _tagged(text, scores=_SCORES, first=None):
  (spans,) = terms.TermsTagger(_terms(scores), first).tag([text])
  return [text[start:end] for start, end in spans]


def _naive(text, scores):
  """Returns the spans of a text of one-letter words, by all pairs of places."""
  words = text.split()
  found = []
  for start in range(len(words)):
    for end in range(start + 1, min(start + 4, len(words)) + 1):
      span = ' '.join(words[start:end])
      if scores.get(span, -np.inf) > -np.inf:
        found.append((-scores[span], start, end, span))
  spans = [span for *_, span in found]
  found = [each for each in found if spans.count(each[-1]) == 1]
  chosen = []
  for _, start, end, span in sorted(found):
    if len(chosen) < 3 and all(end <= a or b <= start for a, b, _ in chosen):
      chosen.append((start, end, span))
  return [span for *_, span in sorted(chosen)]


class TermsTaggerTest(absltest.TestCase):
  def test_best_spans_without_overlaps(self):
    # 'd b a' 4.0 leaves 'c' 3.0; 'b', 'a b c' and 'd' overlap.
    tagger = terms.TermsTagger(_terms(_SCORES))
    found = tagger.tag(['x d b a c', '', 'a x'])
    self.assertEqual(found, [[(2, 7), (8, 9)], [], []])

  def test_spans_end_at_marks_and_at_the_end_of_a_text(self):
    self.assertEqual(_tagged('a, b. d'), ['b', 'd'])
    tagger = terms.TermsTagger(_terms({'a': -np.inf, 'a a': 1.0}))
    self.assertEqual(tagger.tag(['a', 'a']), [[], []])

  def test_agrees_with_a_search_of_all_pairs(self):
    rng = random.Random(0)
    for _ in range(100):
      scores = {word: rng.random() for word in 'abcd'}
      for _ in range(12):
        words = rng.choices('abcd', k=rng.randint(2, 4))
        for end in range(1, len(words) + 1):
          score = rng.random() if end == len(words) else -np.inf
          scores.setdefault(' '.join(words[:end]), score)
      text = ' '.join(rng.choices('abcdx', k=rng.randint(1, 12)))
      self.assertEqual(_tagged(text, scores), _naive(text, scores), text)

  def test_places_are_those_of_the_text_as_given(self):
    scores = {'café': 1.0}
    self.assertEqual(_tagged('soft\xad Cafe\u0301!', scores), ['Cafe\u0301'])

  def test_only_texts_without_names_have_terms(self):
    first = salient_spans.RulesTagger()
    scores = {'lund': 9.0, 'tower': 2.0, 'stone': 3.0, 'lamp': 1.0}
    named = 'They say Ada Lund keeps a tower of stone with one lamp.'
    self.assertEqual(_tagged(named, scores, first), ['Ada Lund'])
    plain = 'They keep a tower of stone with one lamp.'
    self.assertEqual(_tagged(plain, scores, first), ['tower', 'stone', 'lamp'])


if __name__ == '__main__':
  absltest.main()
