"""Tests for realm_tf.corpus.dates and salient_spans."""

import itertools

from absl.testing import absltest

from realm_tf.corpus import dates
from realm_tf.corpus import salient_spans
from tests import input_case

# Texts between bars, with brackets around dates.
_DATES = """\
It landed in [July 1969]. | On [20 July 1969] it | On [July 20, 1969], it |
the [20th of July 1969] | [July the 4th, 1776] | Date: [1969-07-20]. |
on [7/20/1969] at | on [Monday, July 20, 1969]. | [Sunday 20 July 1969] |
on [12–14 May 1940] they | on [May 12-14, 1940], they |
on [30 May – 2 June 1940] it | [May 30 – June 2, 1940] |
from [30 April–2 May] the | the [June–August 1940] rise | born on [4 March] in |
held on [March 4] in | on [Sept. 11, 2001] the | in the [1960s]. |
mid [1960s] music | Since the mid-[1990s] it |
in the [1960s–1970s], or [1960s-70s] | the [1960s] and [1970s] |
music of the '[60s] and ’[70s] | in the [60s] | in the early [sixties] |
of the [Sixties], the [thirties] | the [nineteen-sixties] |
the [2nd millennium BC] | of the [third millennium] | the [19th century] |
a [19th-century] house | the [Nineteenth century] |
in the [19th and 20th centuries] | the [5th century BC] |
Caesar died in [44 BC]. | in [44 B.C.] he | in [AD 79] it | in [79 CE] it |
on [15 March 44 BC] | Plato ([428–348 BC]) | the war of [1939-1945] |
in [1939–45] the | mayor ([2003–present]) | In [1969] it was |
since [2001], it | Hamlet ([1603]) is | the census of [2000] |
the [1998] World Cup | from [1914] to [1918] | between [1914] and [1918] |
in [1969], [1970] and [1971] | the [summer of 1969] | in [Winter 2010] at |
in [July] the rain | in [May] the rain | on [5\xa0May\u202f1990] it |
on [5 Sep\xadtem\xadber 1990] | e\u0301t\u0301 in [May 1990] |
Ann ([1722] – [16 October 1772]) | born [4 May 1929], died [20 January 1993]
"""
_NO_DATES = """\
with 1969 people per km | a village of 1500 inhabitants | won by 1500 votes |
in 1500 m and | in 1500\xa0m and | the 1500-metre race | a population of 1750. |
about 1,969 of them | about 1969.5 or in 20.1969 | paid $1969 in |
Highway 1960 and Boeing 1999A | a B-1969 and in 1969A |
It may rain. May I come? | They march. March on! | on the 12th floor |
a man in his thirties | both parties and the properties | on Monday |
call 555-1969 | in 19690 and in 2150 | at 12:30 | the Juneau and Marchand
"""


# Texts between bars, with brackets around names and dates.
_NAMES = """\
He lives in [Paris] now. | They met [Barack Obama] there. |
at the [University of California] in | the [Lord of the Rings] was |
a work by [Vincent van Gogh] from | was [Alexander the Great], who |
in [Austin], [Texas], and | both [France] and [Spain] are |
of [Darwin]'s books | with [Shaquille O'Neal] in | a [Rolls-Royce] car |
the author [J. R. R. Tolkien] wrote | in [St. Louis] by |
joined [NATO] and the [U.S. Army] | the [US Department of Health] |
in [World War I] by [Henry VIII] in book IX |
in [Zu\u0308rich] by [Jose\u0301 Li] | up [Mount\xa0Everest] now |
a [Rolls\u2011Royce] | in [Ams\xadter\xaddam] by |
in [Am\u200dster\u2060dam] by | by [Shaquille O’Neal] in |
near [Besançon] and [Łódź] are | on [20 July 1969] [Neil Armstrong] stepped |
the [July 1969] [Apollo] mission | [Neil Armstrong] walked. |
In [Paris] it rains. The [Seine] is full. | However, it rains. It pours. |
Rain falls. "Thunder rolls." | [NASA] flew. | and I think I do |
came on Monday with | about 1,500 km from |
and THE QUICK BROWN FOX JUMPS OVER ALL LAZY DOGS
"""


def _marked_texts(table):
  lines = (line.removesuffix(' |').split(' | ') for line in table.splitlines())
  return itertools.chain.from_iterable(lines)


class FindDatesTest(absltest.TestCase):
  def test_finds_the_dates_in_brackets(self):
    for marked in _marked_texts(_DATES + _NO_DATES):
      text = marked.replace('[', '').replace(']', '')
      with self.subTest(text):
        found = input_case.marked(text, dates.find_dates(text))
        self.assertEqual(found, marked)


def _found(*texts):
  spans = salient_spans.RulesTagger().tag(texts)
  return [
    [text[start:end] for start, end in found]
    for text, found in zip(texts, spans)
  ]


class RulesTaggerTest(absltest.TestCase):
  def test_tags_the_names_and_dates_in_brackets(self):
    for marked in _marked_texts(_NAMES):
      text = marked.replace('[', '').replace(']', '')
      with self.subTest(text):
        (spans,) = salient_spans.RulesTagger().tag([text])
        self.assertEqual(input_case.marked(text, spans), marked)

  def test_first_word_is_a_name_if_another_text_has_it_inside(self):
    self.assertEqual(
      _found('Berlin is large.', 'Wine is red.', 'He likes Berlin and wine.'),
      [['Berlin'], [], ['Berlin']],
    )
    self.assertEqual(
      _found('Zu\u0308rich is large.', 'He likes Zürich.'),
      [['Zu\u0308rich'], ['Zürich']],
    )
    self.assertEqual(_found('Chad is dry. Sand is dry.'), [['Chad']])

  def test_common_first_word_is_cut_from_a_name(self):
    # 'President' is part of a name; 'critics' occurs only in lower case.
    self.assertEqual(
      _found('Painter Pablo Picasso lived.', 'A painter is here.'),
      [['Pablo Picasso'], []],
    )

  def test_no_texts(self):
    self.assertEqual(salient_spans.RulesTagger().tag([]), [])
    self.assertEqual(salient_spans.RulesTagger().tag(['']), [[]])


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
    text = 'Some day in July 1969, Neil\xa0Arm\xadstrong and two men flew.'
    spans, empty = tagger.tag([text, 'nothing'])
    found = [text[start:end] for start, end in spans]
    self.assertEqual(found, ['July 1969', 'Neil\xa0Arm\xadstrong'])
    self.assertEqual(empty, [])

  def test_long_texts_are_tagged_in_parts(self):
    text = 'Neil Armstrong flew. ' * 60_000  # spaCy takes at most 1e6.
    [spans] = salient_spans.SpacyTagger(self._pipeline()).tag([text])
    self.assertGreater(len(spans), 59_800)  # A few are cut.
    self.assertEqual({text[a:b] for a, b in spans}, {'Neil Armstrong'})

  def test_any_number_of_processes_tags_the_same(self):
    directory = self._pipeline()
    names = ['Neil Armstrong', 'Nobody', 'July 1969']
    texts = [f'{names[i % 3]} at {i}.' for i in range(1500)]
    one, two = (
      salient_spans.SpacyTagger(directory, n).tag(texts) for n in (1, 2)
    )
    self.assertEqual(one, two)
    self.assertEqual(one[:3], [[(0, 14)], [], [(0, 9)]])


if __name__ == '__main__':
  absltest.main()
