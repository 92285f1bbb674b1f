"""Tests for realm_tf.serving.replies."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.answering import answer as answer_lib
from realm_tf.serving import replies

_TEXT = 'One. Two is here. Three.'


class RepliesTest(parameterized.TestCase):
  @parameterized.parameters(
    (9, 11, 'Two is here.'),  # 'is'.
    (5, 17, 'Two is here.'),
    (12, 23, 'Two is here. Three.'),  # Over the end of a sentence.
    (0, 0, 'One.'),  # No span.
    (18, 18, 'Three.'),
  )
  def test_shows_the_sentences_of_the_span(self, start, end, sentence):
    item = answer_lib.Evidence(
      7, 'title', _TEXT, start, end, _TEXT[start:end], 0.5, 2.0, 'x'
    )
    reply = replies.brief(answer_lib.Answer('who', 'x', 2.0, [item]))
    first, last = reply['evidence'][0]['sentence']
    self.assertEqual(_TEXT[first:last], sentence)

  def test_a_text_without_a_sentence_is_whole(self):
    item = answer_lib.Evidence(7, '', '', 0, 0, '', 1.0, 2.0, '')
    reply = replies.brief(answer_lib.Answer('who', '', 2.0, [item]))
    self.assertEqual(reply['evidence'][0]['sentence'], (0, 0))

  def test_shares_of_read_blocks_and_of_the_others_sum_to_1(self):
    items = [
      answer_lib.Evidence(
        i, 'title', _TEXT, 0, 3, 'One', share, 2.0, 'One', 0.9
      )
      for i, share in ((7, 0.75), (8, 0.25))
    ]
    answer = answer_lib.Answer('who', 'One', 2.0, items, 0.5, 0.2)
    reply = replies.whole(answer, 2, {8: 'changed'})
    shares = [item['p_z'] for item in reply['evidence']]
    self.assertSequenceAlmostEqual(shares, [0.6, 0.2])
    self.assertEqual([item['p_y'] for item in reply['evidence']], [0.9, 0.9])
    changed = [item['changed'] for item in reply['evidence']]
    self.assertEqual(changed, [False, True])
    self.assertLen(replies.whole(answer, 1, {})['evidence'], 1)


if __name__ == '__main__':
  absltest.main()
