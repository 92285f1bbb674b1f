"""Tests that answers are cut from the text unchanged, and count as right."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.text import answers
from tests import fakes

_WORDS = 'he left the u . s in 1 , 000 spider - man ##s c + nai ##ve ? a x $ 5'


class ExactTextTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('dots', 'He left the U.S. in 1,000 x.', 'U.S.', ['US', 'u.s.']),
    ('comma', 'He left in 1,000 x.', '1,000', ['1,000']),
    ('hyphen', 'The Spider-Man left.', 'Spider-Man', ['spider-man']),
    ('signs', 'He left C++ in x.', 'C++', ['c++', 'C++']),
    ('accent', 'A Naïve man.', 'Naïve', ['naïve', 'nai\u0308ve']),
    ('accent_apart', 'A nai\u0308ve man.', 'nai\u0308ve', ['Naïve']),
    ('money', 'He left $5 in x.', '$5', ['$5', '5']),
    ('white_space', 'The  spider -\tman.', 'spider -\tman', ['spider - man']),
    ('unknown_word', 'He left «Köln» .', 'Köln', ['köln']),
  )
  def test_is_cut_from_the_text_and_matches_the_reference(
    self, text, expected, references
  ):
    tokenizer = fakes.tokenizer(_WORDS)
    tokens = tokenizer.tokenize(text)
    first, end = tokens.span(
      text.index(expected), text.index(expected) + len(expected)
    )
    liked = {int(tokens.ids[0]): (first, end - first, 1.0)}
    answerer = answerer_lib.Answerer(
      tokenizer,
      fakes.FakeTable(tokenizer, [''], [text]),
      fakes.FakeRetriever([0], [0.0]),
      fakes.FakeReader(liked, max_width=6),
      config_lib.LengthConfig(question_tokens=4),
      config_lib.FinetuningConfig(num_read=1, joint_tokens=40),
    )
    (answer,) = answerer.answer(['he left ?'])
    self.assertEqual(answer.prediction, expected)
    for reference in references:
      self.assertTrue(answers.exact_match(answer.prediction, [reference]))
    (evidence,) = answer.evidence
    self.assertEqual(text[evidence.start : evidence.end], expected)
    np.testing.assert_allclose(answer.probability, 1.0, atol=1e-5)


if __name__ == '__main__':
  absltest.main()
