"""Tests for realm_tf.wiki.wiki_templates and the tables that it reads."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.wiki import holes
from realm_tf.wiki import template_call
from realm_tf.wiki import wiki_templates


class WikiTemplatesTest(parameterized.TestCase):
  @parameterized.parameters(
    # Measures.
    ('convert|5|ft|m', '5 ft'),
    ('Convert|1300|mi|km|abbr=on', '1,300 mi'),
    ('convert|5|to|10|mi|km', '5 to 10 mi'),
    ('convert|5|-|6|km', '5–6 km'),
    ('convert|5|and|6|km', '5 and 6 km'),
    ('convert|3|x|4|m', '3 × 4 m'),
    ('convert|10|±|2|m', '10 ± 2 m'),
    ('convert|1|,|2|or|3|km', '1, 2 or 3 km'),
    ('convert|5|ft|10|in|m', '5 ft 10 in'),
    ('convert|6|ft|2|+|1/2|in|cm', '6 ft 2 1/2 in'),
    ('convert|5|km|0', '5 km'),
    ('convert|1.2e6|km', '1.2×10⁶ km'),
    ('convert|5+1/2|mi', '5 1/2 mi'),
    ('convert|640|sqmi|km2', '640 sq mi'),
    ('convert|30|m3', '30 m³'),
    ('convert|20|C|F', '20 °C'),
    ('convert|5|e6km2', '5 million km²'),
    ('convert|40|PD/sqmi', '40 people per sq mi'),
    ('convert|10|ft|m|adj=mid|-long', '10 ft long'),
    ('convert|-40|F', '−40 °F'),
    ('cvt|1=5|2=km', '5 km'),
    ('convert|about five|km', holes.LOST),
    ('convert|5', holes.LOST),
    ('convert', holes.LOST),
    ('convert|5|km|mi|disp=output number only', holes.LOST),
    ('height|ft=5|in=10', '5 ft 10 in'),
    ('track gauge|1435mm', '1,435 mm'),
    ('duration|h=1|m=30', '1 h 30 min'),
    # Numbers.
    ('val|5.2|e=3|u=km', '5.2×10³ km'),
    ('val|5|-|6|u=GHz', '5–6 GHz'),
    ('val|1.00794|(7)', '1.00794(7)'),
    ('val|5|0.3|u=kg', '5±0.3 kg'),
    ('val|5|+0.3|-0.2|ul=kg|up=m3', '5+0.3−0.2 kg/m3'),
    ('formatnum:1234567.8', '1,234,567.8'),
    ('nts|1824', '1,824'),
    ('frac|3|1|2', '3 1/2'),
    ('frac|1|2', '1/2'),
    ('frac|3', '1/3'),
    ('1/2', '1/2'),
    ('percentage|1|3|1', '33.3%'),
    ('percentage|25|200', '13%'),
    ('percentage|NaN|3', holes.LOST),
    ('percentage|1,000|-8,000|2', '-12.50%'),
    ('ordinal|12', '12th'),
    ('e|24', '×10²⁴'),
    ('gaps|1|234', '1234'),
    ('US$|45 million', 'US$45 million'),
    ('£|3000', '£3,000'),
    ('INRConvert|5|c', '₹5 crore'),
    ('currency|5|EUR', '€5'),
    ('#expr: 2 * (3+4) - 1/2', '13.5'),
    ('#expr: 9**9**9', holes.LOST),
    ('#expr: 1/0', holes.LOST),
    # Dates.
    ('birth date|1910|3|5', 'March 5, 1910'),
    ('birth date and age|1970|01|2|df=yes', '2 January 1970'),
    ('death date and age|1980|7|9|1910|3|5', 'July 9, 1980'),
    ('dts|1999|May|4', 'May 4, 1999'),
    ('start date|2010', '2010'),
    ('date|2010-05-04', 'May 4, 2010'),
    ('birth year and age|1970|5', '1970'),
    ('as of|2011|3|lc=y', 'as of March 2011'),
    ('As of|2011', 'As of 2011'),
    ('circa|1910', 'c. 1910'),
    ('c.|1910|1920', 'c. 1910 – c. 1920'),
    ('reign|1910|1920', 'r. 1910–1920'),
    ('age|1910|3|5|1980|3|4', '69'),
    ('age|1970|3|5', holes.LOST),
    # Words.
    ('nowrap|5 km', '5 km'),
    ('small|1=a', 'a'),
    ('lang|fr|Berne', 'Berne'),
    ('lang-fr|Berne', 'Berne'),
    ('langx|de|Fluss', 'Fluss'),
    ('transl|ja|Hepburn|aoi', 'aoi'),
    ('nihongo|Blue River|青い川|Aoi Kawa', 'Blue River'),
    ('nihongo||青い川|Aoi Kawa', 'Aoi Kawa'),
    ('zh|s=北京|p=Běijīng', '北京'),
    ('sortname|Jane|Miller', 'Jane Miller'),
    ('sort|Miller|Jane Miller', 'Jane Miller'),
    ('abbr|UN|United Nations', 'UN'),
    ('ill|Anna Holm|da', 'Anna Holm'),
    ('ill|de|Anna Holm|Frau Holm', 'Frau Holm'),
    ('w|power station', 'power station'),
    ('USS|Iowa|BB-61', 'USS Iowa'),
    ('ship|RMS|Titanic', 'RMS Titanic'),
    ('sclass|Iowa|battleship', 'Iowa-class battleship'),
    ('hlist|a|b', 'a, b'),
    ('quote|text=It is old.|author=A', 'It is old.'),
    ('chem|H|2|O', 'H2O'),
    ('snd', ' – '),
    ("'s", "'s"),
    ('music|flat', '♭'),
    ('lc:ABC', 'abc'),
    ('ucfirst:abc', 'Abc'),
    ('#if:x|yes|no', 'yes'),
    ('#if: |yes|no', 'no'),
    ('#ifeq:a|b|yes|no', 'no'),
    # Nothing.
    ('citation needed|date=May 2013', ''),
    ('Clarification_needed', ''),
    ('surname clarify', ''),
    ('Infobox person\n|name=A', ''),
    ('efn|A note', ''),
    ('Norway-stub', ''),
    ('DEFAULTSORT:Oslo', ''),
    ('IPAc-en|b', ''),
    # May have been words.
    ('unknown|5', holes.HOLE),
    ('#invoke:math|add|1', holes.HOLE),
    ('IPA|/a/', holes.LOST),
  )
  def test_templates_leave_their_words(self, template, expected):
    self.assertEqual(wiki_templates.evaluate(template.split('|')), expected)

  def test_arguments_have_positions_or_names(self):
    call = template_call.parse(['A__b\n', ' x ', '3=z', 'Key = v=w', '0=n'])
    self.assertEqual(call, ('a b', ['x', '', 'z'], {'key': 'v=w', '0': 'n'}))


if __name__ == '__main__':
  absltest.main()
