"""Tests for realm_tf.corpus.terms_tagger."""

import random

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import rules_tagger
from realm_tf.corpus import terms as terms_lib
from realm_tf.corpus import terms_tagger

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
  kinds = [np.full(len(v), min(i, 2), np.int8) for i, v in enumerate(values)]
  return terms_lib.Terms(words, keys, values, kinds)


def _tagged(text, scores=_SCORES, first=None):
  (spans,) = terms_tagger.TermsTagger(_terms(scores), first).tag([text])
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
  def test_best_spans_without_overlaps_and_their_kinds(self):
    # 'd b a' 4.0 leaves 'c' 3.0; 'b', 'a b c' and 'd' overlap.
    tagger = terms_tagger.TermsTagger(_terms(_SCORES))
    found = tagger.tag(['x d b a c', '', 'a x'])
    collocation, word = terms_lib.COLLOCATION, terms_lib.WORD
    self.assertEqual(found, [{(2, 7): collocation, (8, 9): word}, {}, {}])
    self.assertEqual(list(found[0]), sorted(found[0]))

  def test_a_span_that_the_text_has_twice_is_not_tagged(self):
    self.assertEqual(_tagged('c x d x c'), ['d'])

  def test_spans_end_at_marks_and_at_the_end_of_a_text(self):
    self.assertEqual(_tagged('a, b. d'), ['b', 'd'])
    tagger = terms_tagger.TermsTagger(_terms({'a': -np.inf, 'a a': 1.0}))
    self.assertEqual(tagger.tag(['a', 'a']), [{}, {}])

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

  def test_a_lower_cased_copy_has_the_same_spans(self):
    text = 'The D b a of C.'
    self.assertEqual(_tagged(text), ['D b a', 'C'])
    self.assertEqual(_tagged(text.lower()), ['d b a', 'c'])

  def test_only_texts_without_names_have_terms(self):
    first = rules_tagger.RulesTagger()
    scores = {'lund': 9.0, 'tower': 2.0, 'stone': 3.0, 'lamp': 1.0}
    named = 'They say Ada Lund keeps a tower of stone with one lamp.'
    self.assertEqual(_tagged(named, scores, first), ['Ada Lund'])
    plain = 'They keep a tower of stone with one lamp.'
    self.assertEqual(_tagged(plain, scores, first), ['tower', 'stone', 'lamp'])
    tagger = terms_tagger.TermsTagger(_terms(scores), first)
    kinds = [*tagger.tag([named])[0].values()]
    self.assertEqual(kinds, ['names and dates'])


if __name__ == '__main__':
  absltest.main()
