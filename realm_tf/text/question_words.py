"""An answer in a sentence -> a question for it, by templates of English.

Most questions are no good English, and teach a reader what question words ask
(Lewis et al. 2019, https://arxiv.org/abs/1906.04980; Fabbri et al. 2020,
https://arxiv.org/abs/2004.11892). Two steps: `answers` finds spans and their
kinds in a sentence, `ask` puts a question word for one of them.
"""

import random
import re
from typing import NamedTuple, Optional

from realm_tf.text import english


class Answer(NamedTuple):
  """A span of a sentence that a question could ask for.

  Attributes:
    kind: 'year', 'date', 'number', 'share', 'money', 'name' or 'phrase'.
    start: First character.
    end: Character after the last.
  """

  kind: str
  start: int
  end: int


_MOST_AROUND = 11  # Words of the sentence on each side of the answer.
_FEWEST_WORDS = 4
_MONTH = english.one_of('months')
_AMOUNT = r'\d[\d,.]*\d|\d'
_WORDED = 'two three four five six seven eight nine ten eleven twelve'
_LARGE = '(?: (?:hundred|thousand|million|billion|trillion))?'
_LINKS = (
  r'(?:of|in|for|that|which|by|on|at|to|with|from|and|or|as|than|is|was)\b'
)
# Kind -> its spans, in order of precedence: a later one overlaps no earlier.
_KINDS = {
  'date': (
    rf'(?:\d{{1,2}} {_MONTH}|{_MONTH}(?: \d{{1,2}}(?:,|(?! \d{{4}}))?)?)'
    r'(?: \d{4})?\b|(?:the )?(?:early |late |mid-)?\d{4}s\b|'
    r'(?:the )?\d{1,2}(?:st|nd|rd|th) centur(?:y|ies)\b'
  ),
  'year': r'\b(?:1[0-9]\d\d|20[0-4]\d)\b(?![\w%-]|,\d)',
  'share': rf'\b(?:{_AMOUNT})(?: ?%| percent| per cent)',
  'money': rf'[$£€] ?(?:{_AMOUNT}){_LARGE}',
  'number': (
    rf'\b(?:{_AMOUNT}|{_WORDED.replace(" ", "|")}){_LARGE}(?= [a-z]{{3,}})'
  ),
  'name': (
    r"\b[A-Z](?:[\w.-]|['’](?!s\b))*\w(?:(?: (?:of|the|de|la|von|van|&)){0,2}"
    r" [A-Z](?:[\w.-]|['’](?!s\b))*\w)*"
  ),
  'quote': r'(?<=["“])[^"“”]{3,60}(?=["”])',
  'phrase': (
    rf'\b(?:the|an?|their|its|his|her) (?:(?!{_LINKS})[a-z-]{{3,}} ){{0,2}}'
    rf'(?!{_LINKS})[a-z-]{{4,}}(?=[,.;:)]| {_LINKS})'
  ),
}
_FIND = re.compile(
  '|'.join(f'(?P<{kind}>{form})' for kind, form in _KINDS.items())
)
# Words that begin a sentence with a capital and are no names.
_NO_NAME = re.compile(
  f'(?:{"|".join(english.WORDS["starters"])}|[A-Z]|I|There|Many|Other|Such)$'
)
# 'French' in 'French troops' names no thing.
_ADJECTIVE = re.compile(r'(?:ish|ian|ese|ean|ic|can|man|tant|rench|utch)$')
_PREPOSITION = re.compile(
  r'(?:^|\s)(in|on|at|by|from|to|of|for|with|near|during|since|until|into|as|'
  r'about|between|through|after|before|under|over|around)(?: the)?$'
)
_CUT_BEFORE = re.compile(
  r'.*(?:[;:]|, (?:and|but|which|who|while|where|when|although|because)\b)\s*'
)
_CUT_AFTER = re.compile(
  r'\s*(?:[;:]|,? (?:but|which|who|while|where|although|because)\b|, and\b).*'
)
_BRACKETS = re.compile(r'\s*[(\[][^)\]]*[)\]]')
_AUXILIARY = re.compile(
  r'^(?P<subject>\S.*?) (?P<aux>was|were|is|are|has|had|have|can|could|will|'
  r'would|may|must|should)\b(?P<rest>.*)$'
)
_PRONOUN = re.compile(r'^(?:He|She|It|They)(?=\s)')
_OWNER = re.compile(r'^(?:His|Her|Its|Their)(?=\s)')
_ACTS = re.compile(
  r'\s*(?:,[^,]*,)? ?(?:who|himself|herself|said|says|wrote|argued|became|born|'
  r'died|married|won|led|served|believed|described|claimed|stated|founded|'
  r'played|directed|composed|invented|suggested|noted)\b'
)
_PERSON = re.compile(
  r'(?:King|Queen|President|Sir|Dr|Pope|Emperor|General|Saint|Prince|Princess|'
  r'Lord|Professor|Bishop|Senator|Captain|Mr|Mrs)\b'
)
# The last word of a name, its kind: 'what university'.
_HEAD = re.compile(
  r'(?:University|College|School|River|Company|Corporation|War|Battle|Treaty|'
  r'Act|Party|Church|Cathedral|Island|Museum|Prize|Award|Empire|Dynasty|League|'
  r'Army|Bank|Airport|Street|Lake|Mountain|Park|Bridge|Library|Council|Court|'
  r'Society|Institute|Agency|Theatre|Stadium|Palace|Castle|Kingdom|Republic|'
  r'Revolution|Festival|Language|Ocean|Sea|Desert|Province|County|District)$'
)
_PLACES = {'in', 'at', 'near', 'from', 'to', 'into', 'around', 'through'}


def answers(sentence: str) -> list[Answer]:
  """Returns the spans of a sentence that a question could ask for, in order."""
  found = []
  for match in _FIND.finditer(sentence):
    kind, text = match.lastgroup or '', match.group()
    first = text.split()[0]
    start = match.start()
    if kind == 'name':
      if (not start or len(text) < 3) and _NO_NAME.match(first):
        start += len(first) + 1  # 'After Rome ...'.
        text = sentence[start : match.end()]
      if not start and ' ' not in text:
        continue  # Any word has a capital here.
      follows = sentence[match.end() : match.end() + 2]
      if _ADJECTIVE.search(text) and re.match(r' [a-z]', follows):
        continue
    if len(text) > 1:
      kind = 'phrase' if kind == 'quote' else kind
      found.append(Answer(kind, start, match.end()))
  return found


def ask(
  sentence: str, answer: Answer, title: str, rng: random.Random
) -> Optional[str]:
  """Returns a question whose answer is the span, or None without enough words.

  Args:
    sentence: Need not be the sentence that the reader will see.
    title: Title of the article, for a pronoun that begins the sentence.
  """
  before = _CUT_BEFORE.sub('', sentence[: answer.start]).strip()
  after = _CUT_AFTER.sub('', sentence[answer.end :]).rstrip(' .?!"”')
  before, after = (_BRACKETS.sub('', part) for part in (before, after))
  before = re.sub(r'^[\'"“\s,]+|^(?:However|Also|Thus),? ', '', before)
  if title:
    before = _PRONOUN.sub(lambda _: title, before)
    before = _OWNER.sub(lambda _: f"{title}'s", before)
  word, before = _question_word(
    answer, sentence[answer.start : answer.end], before, after, rng
  )
  before = ' '.join(before.split()[-_MOST_AROUND:])
  after = ' '.join(after.split()[:_MOST_AROUND])
  if len(f'{before} {after}'.split()) < _FEWEST_WORDS:
    return None
  text = ' '.join(_ordered(word, _lower(before), after, rng).split())
  text = re.sub(r' (?=[,.;])|[()\[\]"“”]', '', text).strip(' ,')
  return f'{text[0].upper()}{text[1:]}?'


def _question_word(
  answer: Answer, text: str, before: str, after: str, rng: random.Random
) -> tuple[str, str]:
  """Returns the words that ask, and `before` without their place."""
  match = _PREPOSITION.search(before)
  preposition = match[1] if match else ''
  without = before[: match.start()] if match else before
  if before.endswith(' the'):
    before = before[: -len(' the')]
  if answer.kind in ('year', 'date'):
    if preposition in ('in', 'on', 'during', 'since', 'at'):
      year = answer.kind == 'year' and rng.random() < 0.4
      return ('in what year' if year else 'when'), without
    return ('what year' if answer.kind == 'year' else 'what date'), before
  if answer.kind == 'number':
    return 'how many', before
  if answer.kind == 'share':
    return rng.choice(['what percentage', 'how much']), before
  if answer.kind == 'money':
    return rng.choice(['how much money', 'how much']), before
  if answer.kind == 'phrase':
    return 'what', before
  head = _HEAD.search(text)
  if head and rng.random() < 0.7:
    return f'{rng.choice(["what", "which"])} {head[0].lower()}', before
  if preposition == 'by' or _PERSON.match(text) or _ACTS.match(after):
    return 'who', before
  if preposition in _PLACES and not head:
    if preposition in ('in', 'at', 'near') and rng.random() < 0.5:
      return 'where', without
    return rng.choice(['what place', 'which country', 'what city']), before
  words = ['what', 'which', 'who'] if ' ' in text else ['what', 'who']
  return rng.choice(words), before


def _ordered(word: str, before: str, after: str, rng: random.Random) -> str:
  """Returns the parts in an order that users might type."""
  match = _AUXILIARY.match(before)
  if not before:
    return f'{word} {after}'  # 'Who founded the town'.
  if match and rng.random() < 0.6:
    return f'{word} {match["aux"]} {match["subject"]}{match["rest"]} {after}'
  chance = rng.random()
  if chance < 0.45:
    return f'{word} {after} {before}'
  if chance < 0.8:
    return f'{word} {before} {after}'
  return f'{before} {word} {after}'


def _lower(text: str) -> str:
  """Returns a text whose first word has no capital unless it is a name."""
  first, _, rest = text.partition(' ')
  is_common = first.lower() in english.WORDS['lower words'] or first == 'The'
  return f'{first.lower()} {rest}' if is_common else text
