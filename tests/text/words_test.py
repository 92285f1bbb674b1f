"""Tests for realm_tf.text.words."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.retrieval import retriever
from realm_tf.retrieval import word_search
from realm_tf.text import words


class WordsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('It rained in the U.S., snake_case', 'it rained in the u s snake case'),
    ('Cafe\u0301 No\xebl', 'caf\xe9 no\xebl'),
    ('नमस्ते दुनिया', 'नमस्ते दुनिया'),
    ('東京タワー 1958年', '東 京 タ ワ ー 1958 年'),
    ('ที่นี่', 'ที่ นี่'),
    ('ပြည်', 'ပြ ည်'),
    ('서울은', '서 울 은'),
    ('كِتَابٌ', 'كتاب'),
    ('Ａ ﬁlm: ｶﾞｽ H₂O', 'a film ガ ス h2o'),
    ('१९४७, ٢٠ 10²', '1947 20 10²'),
  )
  def test_words_of_a_text(self, text, expected):
    self.assertEqual(' '.join(words.split(text)), expected)

  @parameterized.parameters(
    ('plain_text (it).', 'plain_text  it  '),
    ('दिल्ली, «𞤀𞥄»', 'दिल्ली 𞤀𞥄 '),
    ('東京都 ab', ' 東京 京都  ab'),
    ('水', ' 水_ '),
    ('ที่นี่', ' ที่นี่ '),
  )
  def test_pairs_of_letters(self, text, expected):
    self.assertEqual(words.spaced_pairs(text), expected)

  @parameterized.parameters(
    ('北京在哪里?', ['东京是日本的首都。', '北京是中国的首都。']),
    ('दिल्ली कहाँ है', ['दिल की बात', 'दिल्ली भारत में है']),
    ('สยามอยู่ที่ไหน', ['ลาวอยู่ในเอเชีย', 'ประเทศสยามคือไทย']),
  )
  def test_bm25_finds_texts_of_scripts_without_spaces(self, question, texts):
    found = word_search.Bm25Retriever(['', ''], texts).retrieve(
      retriever.of_texts([question]), 1
    )
    self.assertEqual(found.block_ids.tolist(), [[1]])


if __name__ == '__main__':
  absltest.main()
