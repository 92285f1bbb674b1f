"""Tests for realm_tf.corpus.dates."""

from absl.testing import absltest

from realm_tf.corpus import dates
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


class FindDatesTest(absltest.TestCase):
  def test_finds_the_dates_in_brackets(self):
    for line in (_DATES + _NO_DATES).splitlines():
      for marked in line.removesuffix(' |').split(' | '):
        text = marked.replace('[', '').replace(']', '')
        with self.subTest(text):
          found = input_case.marked(text, dates.find_dates(text))
          self.assertEqual(found, marked)


if __name__ == '__main__':
  absltest.main()
