"""The words of MediaWiki's templates, and sentences that lack one.

Tables name the words that a reader sees. A note or a box has none. An unknown
template, which may have been a word, becomes HOLE; a template whose arguments
have no words, or another dropped word, such as a formula, becomes LOST.
"""

from collections.abc import Callable, Mapping
import re
from typing import cast

from realm_tf.text import sentences

# Private characters of Unicode.
HOLE = '\ue000'
LOST = '\ue003'


def _split(names: str) -> list[str]:
  return [name.strip() for name in names.split(',')]


def _inverse(table: Mapping[str, str]) -> dict[str, str]:
  return {name: key for key, names in table.items() for name in _split(names)}


# What a reader sees -> templates. {1} is the first argument, {-1} the last one,
# and {*, } all with ', ' between them.
_SHOWN = _inverse(
  {
    '{1}': """nowrap, nowr, nobr, nobreak, nwr, j, small, smaller, smalldiv,
      big, bigger, larger, large, nobold, noitalic, em, strong, italic, bold,
      code, mono, key, keypress, kbd, samp, var, abbr, abbrv, abbrlink, tooltip,
      define, dfn, hover title, vanchor, visible anchor, unicode, polytonic, sc,
      smallcaps, small caps, tl, marriage, as written, sub, underline, center,
      longitem, flag, flagcountry, flagu, flag link, quote, blockquote, cquote,
      rquote, quotation, poemquote, overline, translation, literal translation,
      lit, gloss, strike, title case, pslink, nihongo, nihongo2, nihongo3,
      korean, ill, interlanguage link, mvar, math, nts, number, formatnum, num,
      track gauge, railgauge, dts, date, formatdate, birth year, start year,
      birth year and age, death year and age, year, released, bracket""",
    '{2}': """lang, langx, rtl-lang, native name, native phrase, script, m,
      wikt-lang, font color, color text, glossary link, sort, color""",
    '{-1}': 'transl, transliteration, translit, resize, font, size, fs, nom, w',
    '{1} {2}': 'sortname, sort name, oldstyledate, ship',
    '{1}–{2}': 'age range',
    '{1}-{2}': 'nuclide, nuclide2, simplenuclide, simplenuclide2',
    '{1}-class {2}': 'sclass, sclass2, sclass-, ship class',
    '{1}% ': 'percent',
    '×10^{1}': 'e, e-sp, 10^',
    'c. {1}': 'circa, c., ca., ca',
    'r. {1}–{2}': 'reign, r.',
    'fl. {1}': 'floruit, fl, fl.',
    'aged {1}': 'aged',
    'vol. {1}': 'vol.',
    'p. {1}': 'p.',
    'pp. {1}': 'pp.',
    'no. {1}': 'no.',
    '⟨{1}⟩': 'angbr, angle bracket',
    '{*}': 'not a typo, chem, chem2, ce, gaps',
    '{* }': 'linktext, sic, typo',
    '{*, }': 'hlist, flatlist, cslist',
    '\n{*\n}\n': 'ubl, unbulleted list, plain list, bulleted list, olist',
    '${1}': 'us$, usd, $',
    '£{1}': '£, gbp, pound sterling',
    '€{1}': '€, eur, euro',
    '₹{1}': '₹, inr, indian rupee',
    '¥{1}': '¥, jpy, yen, cny',
    'A${1}': 'a$, aud',
    'C${1}': 'c$, cad',
    'USS {1}': 'uss',
    'HMS {1}': 'hms',
    'SS {1}': 'ss',
    ' ': 'nbsp, space, spaces, nbs, thinsp, hsp, nnbsp',
    ' – ': 'snd, spaced ndash, spnd, dash',
    '–': 'ndash, en dash',
    '—': 'mdash, em dash',
    "'": "', apostrophe",
    "'s": "'s",
    '=': '=, equals',
    ' · ': '·, dot, middot, •, bull, bullet',
    '−': 'minus, −',
  }
)
_DATES = frozenset(
  _split(
    """birth date, birth date and age, birth-date, birth-date and age, dob, bda,
    death date, death-date, death date and age, death-date and age, dda,
    start date, start date and age, start-date, end date, end-date, film date,
    launch date, release date, opening date, as of, date, dts"""
  )
)
_MEASURES = frozenset(_split('convert, cvt, conv, converted, val, value'))
_FRACTIONS = frozenset(_split('frac, fraction, sfrac, tfrac, fract'))
# Notes, boxes and other templates that show no word of a sentence.
_UNSEEN = re.compile(
  r'(?:cite|citation|vcite|harv|sfn|efn|infobox|navbox|pp-|ipac?-|refn|rp|use '
  r'|taxobox|commons|wikt?|redirect|col-|stub|notelist|imdb|cleanup|toc|clear|'
  r'expand|update|coord missing|main|see|further|other|about|for|portal|legend|'
  r'flag ?icon|flagdeco|anchor|defaultsort|displaytitle|authority|ref|respell|'
  r'dead|note|fact|clarify|when|who|where|which|by whom|#tag:|gallery|image|'
  r'multiple image|listen|audio|clade|chart|dmoz|inflation|increase|decrease|'
  r'div col|icon|-$|r$|cn$).*|.*(?:\?|-stub|-inline| stub| needed| icon| source'
  r'|sources| section| box|sidebar| inline| footer| navigation| hatnote)'
)
_MONTHS = _split(
  'January, February, March, April, May, June, July, August, September, '
  'October, November, December'
)
_ARGUMENT = re.compile(r'\{(-?\d|\*[^}]*)\}')
_NUMBER = re.compile(r'[-−+±]?[\d,. /×e()+-]+')
# Between two numbers: markup -> text.
_BETWEEN = {'-': '–', 'to(-)': ' to ', 'x': ' × ', 'by': ' by ', '±': ' ± '}
_BETWEEN |= {word: f' {word} ' for word in _split('to, –, and, or, ×, +')}
_UNITS = _inverse(
  {
    '°C': 'C, C-change, degC',
    '°F': 'F, F-change, degF',
    'sq mi': 'sqmi',
    'nautical miles': 'nmi',
    'acres': 'acre',
    'barrels': 'oilbbl, bbl',
    'US gal': 'USgal',
    'imperial gal': 'impgal',
    'tonnes': 't, MT',
    'short tons': 'ST',
    'long tons': 'LT',
    'million acres': 'e6acre',
    'million km²': 'e6km2',
  }
)
RAISED = str.maketrans('0123456789+-−–=()', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾')


def words(name: str, read: Callable[[], Mapping[str, str]]) -> str:
  """Returns the words of a template, '' for a note, HOLE if it is unknown.

  Args:
    read: Returns name or number of each argument -> its words.
  """
  text = name.partition(':')[2].strip()
  name = ' '.join(name.replace('_', ' ').split()).lower()
  if name.startswith(('lc:', 'uc:', 'lcfirst:', 'ucfirst:', 'formatnum:')):
    return text
  if name.startswith('lang-'):
    name = 'nowrap'
  if name in _MEASURES:
    return _measure(read())
  if name in _FRACTIONS:
    arguments = read()
    parts = [arguments[key] for key in '123' if arguments.get(key)]
    parts = parts if len(parts) > 1 else ['1', *parts]
    return ' '.join([*parts[:-2], '/'.join(parts[-2:])])
  if name in _DATES:
    return _date(name, read())
  if name in _SHOWN:
    return _fill(_SHOWN[name], read())
  return '' if _UNSEEN.fullmatch(name) else HOLE


def _fill(pattern: str, arguments: Mapping[str, str]) -> str:
  """Returns a value of _SHOWN with arguments; LOST if one is missing."""
  values = [arguments[key] for key in arguments if key.isdecimal()]
  named = ('text', 'quote', 'content', 'title')
  values = values or [arguments[key] for key in named if key in arguments][:1]

  def value(match: re.Match) -> str:
    if match[1][0] == '*':
      return match[1][1:].join(filter(None, values))
    place = int(match[1])
    place -= place > 0
    return (
      values[place] if -1 <= place < len(values) and values[place] else LOST
    )

  text = _ARGUMENT.sub(value, pattern)
  return LOST if LOST in text else text


def _measure(arguments: Mapping[str, str]) -> str:
  """Reads {{convert|5|to|10|km|mi}}: '5 to 10 km'; also {{val|5|u=km}}."""
  text, unit = '', arguments.get('u') or arguments.get('ul')
  values = [arguments[key] for key in arguments if key.isdecimal()]
  for place, value in enumerate(values):
    if value in _BETWEEN and place:
      text = text.rstrip() + _BETWEEN[value]
    elif _NUMBER.fullmatch(value):
      value = f'{int(value):,}' if value.isdecimal() else value
      text += re.sub('^-', '−', value) + ' '
    elif not text:
      return LOST
    elif not unit:
      value = _UNITS.get(value, value)
      text += raise_digits(r'(?<=[a-z])([23])$', value) + ' '
      # '6 ft 2 in' has two numbers, '6 ft m' and '6 ft 0' have one.
      later = values[place + 1 : place + 3]
      if len(later) < 2 or not _NUMBER.fullmatch(later[0]):
        break
  if arguments.get('e') and text:
    text = f'{text.rstrip()}×10{arguments["e"].translate(RAISED)} '
  return f'{text}{unit or ""}'.strip() or LOST


def raise_digits(pattern: str, text: str) -> str:
  """Replaces matches by their first group in superscript characters."""
  return re.sub(pattern, lambda match: match[1].translate(RAISED), text)


def _date(name: str, arguments: Mapping[str, str]) -> str:
  """Reads {{birth date|1910|3|5|df=y}}: '5 March 1910'."""
  year, month, day = (arguments.get(key, '') for key in '123')
  if month.isdecimal() and 1 <= int(month) <= 12:
    month = _MONTHS[int(month) - 1]
  day = day.lstrip('0')
  if not year:
    return LOST
  if not day or not month:
    date = f'{month} {year}'.strip()
  elif arguments.get('df', '').lower() in ('y', 'yes', '1'):
    date = f'{day} {month} {year}'
  else:
    date = f'{month} {day}, {year}'
  if name != 'as of':
    return date
  return (
    arguments.get('alt') or f'{"as" if "lc" in arguments else "As"} of {date}'
  )


_DEMANDING = frozenset(
  """
  a about above after almost an and any approximately are around as at
  average be because been before being below between but by called circa
  costs despite du during each either every exactly for from had has have
  in into is it's its least like more most named nearly no of on only or
  our over per roughly since some than that the their these this those
  through to toward towards under until upon was were with within without
  """.split()
)
_HOLE = re.compile(rf'[{HOLE}{LOST}][{HOLE}{LOST} ]*')
_LAST_WORD = re.compile(r"[\w'’]*$")
_BRACKETS = re.compile(r'\s*[(\[]([^()\[\]]*)[)\]]')
_LONGEST_WORD = 20  # Characters to inspect before a hole.
_SIGNS = frozenset('$£€¥₹+-−–—/×=~≈<>±‘“«#^*')
_DASHES = ('–', '—', '-')


def cut(line: str) -> str:
  """Returns a line without holes and without sentences that lack a word."""
  if _HOLE.search(line):
    line = _BRACKETS.sub(_cut_brackets, line)
  if not _HOLE.search(line):
    return line
  # A hole is a word to the splitter: 'old. <hole> It' is two sentences.
  found = [line[i:j] for i, j in sentences.split_sentences(line)]
  kept = (
    _HOLE.sub(_keep_space, sentence).strip()
    for sentence in found
    if not _is_broken(sentence)
  )
  return ' '.join(sentence for sentence in kept if sentence)


def _keep_space(match: re.Match) -> str:
  return ' ' if ' ' in match.group() else ''


def _cut_brackets(match: re.Match) -> str:
  if _is_broken(match.group(1), in_brackets=True):
    return ''
  return _HOLE.sub(_keep_space, match.group())


def _is_broken(text: str, in_brackets: bool = False) -> bool:
  """Returns whether a sentence, or the text in brackets, lacks a word."""
  for match in _HOLE.finditer(text):
    left = text[max(0, match.start() - _LONGEST_WORD) : match.start()]
    is_item = in_brackets and left.rstrip()[-1:] in ('', ',', ';', ':')
    if LOST in match.group() and not is_item:
      return True
    if _is_missed(left, match.group(), text[match.end() : match.end() + 1]):
      return True
  return False


def _is_missed(left: str, hole: str, after: str) -> bool:
  """Returns whether the hole between `left` and `after` was a word."""
  before = left.rstrip()
  if not before:  # A banner or an icon, unless the sentence goes on.
    return after.islower() or after in _DASHES
  spaced, last = before != left, before[-1]
  joined = after.isalnum() and hole[-1] != ' '
  if not (spaced or joined or last in _SIGNS):
    return False  # After a word: a note.
  if last in '([.!?:;,•·':  # Between two items or two sentences.
    return after.islower() or joined and last not in '.!?'
  word = cast(re.Match, _LAST_WORD.search(before)).group().lower()
  if last in _SIGNS or word in _DEMANDING or word.isdigit():
    return True
  return after.isalnum() or after in ('(', *_DASHES)
