"""Tests for realm_tf.corpus.dates."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import dates


def _found(text):
  return [text[start:end] for start, end in dates.find_dates(text)]


class FindDatesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('month_year', 'It landed in July 1969.', ['July 1969']),
    ('day_month_year', 'On 20 July 1969 it', ['20 July 1969']),
    ('month_day_year', 'On July 20, 1969, it', ['July 20, 1969']),
    ('ordinal_of', 'the 20th of July 1969', ['20th of July 1969']),
    ('ordinal_behind', 'July the 4th, 1776', ['July the 4th, 1776']),
    ('iso', 'Date: 1969-07-20.', ['1969-07-20']),
    ('slashes', 'on 7/20/1969 at', ['7/20/1969']),
    ('weekday', 'on Monday, July 20, 1969.', ['Monday, July 20, 1969']),
    ('weekday_first', 'Sunday 20 July 1969', ['Sunday 20 July 1969']),
    ('day_range', 'on 12–14 May 1940 they', ['12–14 May 1940']),
    ('days_of_a_month', 'on May 12-14, 1940, they', ['May 12-14, 1940']),
    ('days_of_two', 'on 30 May – 2 June 1940 it', ['30 May – 2 June 1940']),
    ('days_of_two_us', 'May 30 – June 2, 1940', ['May 30 – June 2, 1940']),
    ('days_no_year', 'from 30 April–2 May the', ['30 April–2 May']),
    ('months', 'the June–August 1940 rise', ['June–August 1940']),
    ('no_year', 'born on 4 March in', ['4 March']),
    ('month_day', 'held on March 4 in', ['March 4']),
    ('abbreviated', 'on Sept. 11, 2001 the', ['Sept. 11, 2001']),
    ('decade_with_article', 'in the 1960s.', ['1960s']),
    ('decade', 'mid 1960s music', ['1960s']),
    ('mid_decade', 'Since the mid-1990s it', ['1990s']),
    (
      'decades',
      'in the 1960s–1970s, or 1960s-70s',
      ['1960s–1970s', '1960s-70s'],
    ),
    ('decades_and', 'the 1960s and 1970s', ['1960s', '1970s']),
    ('short_decade', "music of the '60s and ’70s", ['60s', '70s']),
    ('bare_short_decade', 'in the 60s', ['60s']),
    ('early_decade', 'in the early sixties', ['sixties']),
    ('the_decade', 'of the Sixties, the thirties', ['Sixties', 'thirties']),
    ('nineteen', 'the nineteen-sixties', ['nineteen-sixties']),
    ('millennium', 'the 2nd millennium BC', ['2nd millennium BC']),
    ('millennium_in_words', 'of the third millennium', ['third millennium']),
    ('century', 'the 19th century', ['19th century']),
    ('century_adjective', 'a 19th-century house', ['19th-century']),
    ('century_in_words', 'the Nineteenth century', ['Nineteenth century']),
    (
      'centuries',
      'in the 19th and 20th centuries',
      ['19th and 20th centuries'],
    ),
    ('century_bc', 'the 5th century BC', ['5th century BC']),
    ('bc', 'Caesar died in 44 BC.', ['44 BC']),
    ('bce_dots', 'in 44 B.C. he', ['44 B.C.']),
    ('ad', 'in AD 79 it', ['AD 79']),
    ('ce', 'in 79 CE it', ['79 CE']),
    ('day_bc', 'on 15 March 44 BC', ['15 March 44 BC']),
    ('range_bc', 'Plato (428–348 BC)', ['428–348 BC']),
    ('range', 'the war of 1939-1945', ['1939-1945']),
    ('short_range', 'in 1939–45 the', ['1939–45']),
    ('open_range', 'mayor (2003–present)', ['2003–present']),
    ('in_year', 'In 1969 it was', ['1969']),
    ('since_year', 'since 2001, it', ['2001']),
    ('parenthesis', 'Hamlet (1603) is', ['1603']),
    ('of_year', 'the census of 2000', ['2000']),
    ('the_year', 'the 1998 World Cup', ['1998']),
    ('from_to', 'from 1914 to 1918', ['1914', '1918']),
    ('between', 'between 1914 and 1918', ['1914', '1918']),
    ('list', 'in 1969, 1970 and 1971', ['1969', '1970', '1971']),
    ('season', 'the summer of 1969', ['summer of 1969']),
    ('season_no_of', 'in Winter 2010 at', ['Winter 2010']),
    ('month_alone', 'in July the rain', ['July']),
    ('may_in_context', 'in May the rain', ['May']),
    ('no_break_spaces', 'on 5\xa0May\u202f1990 it', ['5\xa0May\u202f1990']),
    (
      'soft_hyphen',
      'on 5 Sep\xadtem\xadber 1990',
      ['5 Sep\xadtem\xadber 1990'],
    ),
    ('decomposed', 'e\u0301t\u0301 in May 1990', ['May 1990']),
    (
      'year_before_a_day',
      'Ann (1722 – 16 October 1772)',
      ['1722', '16 October 1772'],
    ),
    (
      'two_dates',
      'born 4 May 1929, died 20 January 1993',
      ['4 May 1929', '20 January 1993'],
    ),
  )
  def test_finds(self, text, expected):
    self.assertEqual(_found(text), expected)

  @parameterized.named_parameters(
    ('people', 'with 1969 people per km'),
    ('people_after_of', 'a village of 1500 inhabitants'),
    ('after_by', 'won by 1500 votes'),
    ('metres', 'in 1500 m and'),
    ('no_break_unit', 'in 1500\xa0m and'),
    ('unit_with_hyphen', 'the 1500-metre race'),
    ('population', 'a population of 1750.'),
    ('separators', 'about 1,969 of them'),
    ('decimals', 'about 1969.5 or in 20.1969'),
    ('money', 'paid $1969 in'),
    ('number_behind_word', 'Highway 1960 and Boeing 1999A'),
    ('model', 'a B-1969 and in 1969A'),
    ('may', 'It may rain. May I come?'),
    ('march', 'They march. March on!'),
    ('ordinal', 'on the 12th floor'),
    ('age', 'a man in his thirties'),
    ('ties', 'both parties and the properties'),
    ('weekday_alone', 'on Monday'),
    ('phone', 'call 555-1969'),
    ('big_number', 'in 19690 and in 2150'),
    ('time', 'at 12:30'),
    ('month_in_word', 'the Juneau and Marchand'),
  )
  def test_leaves_alone(self, text):
    self.assertEqual(_found(text), [])


if __name__ == '__main__':
  absltest.main()
