"""Tests for realm_tf.corpus.salient_spans."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import salient_spans


class SpacyTaggerTest(absltest.TestCase):
  def _pipeline(self):
    # pip cannot install spaCy's trained pipelines.
    import spacy  # pylint: disable=g-import-not-at-top

    pipeline = spacy.blank('en')
    pipeline.add_pipe('entity_ruler').add_patterns(
      [
        {'label': 'PERSON', 'pattern': 'Neil Armstrong'},
        {'label': 'CARDINAL', 'pattern': 'two'},
        {'label': 'DATE', 'pattern': 'some day'},
        {'label': 'ORG', 'pattern': 'July'},
      ]
    )
    directory = self.create_tempdir().full_path
    pipeline.to_disk(directory)
    return directory

  def test_tags_entities_and_dates_of_a_saved_pipeline(self):
    tagger = salient_spans.SpacyTagger(self._pipeline())
    text = 'Some day in July 1969, Neil Armstrong and two men flew.'
    spans, empty = tagger.tag([text, 'nothing'])

    self.assertEqual(
      [text[start:end] for start, end in spans], ['July 1969', 'Neil Armstrong']
    )
    self.assertEqual(empty, [])

  def test_long_texts_are_tagged_in_parts(self):
    text = 'Neil Armstrong flew. ' * 60_000  # spaCy takes at most 1e6.
    [spans] = salient_spans.SpacyTagger(self._pipeline()).tag([text])
    self.assertGreater(len(spans), 59_800)  # A few are cut.
    self.assertEqual({text[a:b] for a, b in spans}, {'Neil Armstrong'})

  def test_marks_and_special_spaces_cut_no_name(self):
    tagger = salient_spans.SpacyTagger(self._pipeline())
    text = 'It was Neil\xa0Arm\xadstrong in July.'
    [[name, _]] = tagger.tag([text])
    self.assertEqual(text[slice(*name)], 'Neil\xa0Arm\xadstrong')

  def test_any_number_of_processes_tags_the_same(self):
    directory = self._pipeline()
    names = ['Neil Armstrong', 'Nobody', 'July 1969']
    texts = [f'{names[i % 3]} at {i}.' for i in range(1500)]
    one, two = (
      salient_spans.SpacyTagger(directory, n).tag(texts) for n in (1, 2)
    )
    self.assertEqual(one, two)
    self.assertEqual(one[:3], [[(0, 14)], [], [(0, 9)]])

  def test_missing_pipeline_says_what_to_install(self):
    with self.assertRaisesRegex(errors.UserError, 'spacy download en_none'):
      salient_spans.SpacyTagger('en_none')


if __name__ == '__main__':
  absltest.main()
