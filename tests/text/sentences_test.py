"""Tests for realm_tf.text.sentences."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.text import sentences
from tests import input_case


class SplitSentencesTest(parameterized.TestCase):
  @parameterized.parameters(
    '[One.] [Two!] [Three?] [Four]',
    '[It is 3.14 m.] [It fits.]',
    '[Dr. Smith met St. John.] [He left.]',
    '[J. R. R. Tolkien wrote.] [He did.]',
    '[The U.S. Army won.]',
    '[He left the U.S.] [It was 1969.]',
    '[Acme Co. Building, Jan. 5, was big.]',
    '[He ran Acme Inc.] [She sold it.]',
    '[See No. 5, p. 7.] [No.] [He is C. 5 is.]',
    '[It was World War I.] [It ended.]',
    '[the u.s. army won, e.g. in may.] [so j. smith left.] [ok]\n[No. so]',
    '[See e.g. this. ok?]',
    '[He said "No."] [Then (alone.)] [He left.]',
    '[It ended.] ["Why?" she asked.]',
    '[a.B c.D]',
    '[Born in 1969.] [Died in 2000.]',
    ' [Heading] \n[Text one.]\r\n\n  [Text two]',
    '[Well...] [Yes.]',
    '',
    ' \n\t ',
  )
  def test_splits_as_brackets_show(self, marked):
    text = marked.replace('[', '').replace(']', '')
    spans = sentences.split_sentences(text)
    self.assertEqual(input_case.marked(text, spans), marked)

  def test_loses_no_character(self):
    text = ' A b.  C (d.) "E?"\nF… G. h \u2028 I.J. K! '
    spans = sentences.split_sentences(text)
    found = ''.join(text[start:end] for start, end in spans)
    self.assertEqual(''.join(found.split()), ''.join(text.split()))


if __name__ == '__main__':
  absltest.main()
