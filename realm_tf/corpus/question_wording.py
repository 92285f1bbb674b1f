"""Words a question from a sentence and the span that it asks for.

Templates as in Lewis et al. 2019 (https://arxiv.org/abs/1906.04980) and Fabbri
et al. 2020 (https://arxiv.org/abs/2004.11892), and English where it is easy:

  sentence -> its clause with the span -> 'wh + after + before', or in the order
  of an English question where the clause is simple
"""

from collections.abc import Collection
import re

import numpy as np

from realm_tf.corpus import question_spans
from realm_tf.corpus import terms
from realm_tf.text import english

_GAP = '\0'  # Stands for the span.
_SHORTEST, _LONGEST = 4, 30  # Words of a question.
_ENOUGH = 8  # Words of a question that may lose the rest.
_NATURAL = 0.85  # Share of the simple clauses that become English.
_LONG = 18  # Words of a clause that loses its part before a comma.

_BASES = dict(
  pair.split(':')
  for name in ('past verbs', 'present verbs')
  for pair in english.WORDS[name]
)
_PAST = frozenset(pair.split(':')[0] for pair in english.WORDS['past verbs'])
_AUXILIARIES = frozenset(english.WORDS['auxiliaries'])
_PARTICIPLES = frozenset(english.WORDS['irregular participles'])
_HAVE = {'has': 'does', 'have': 'do', 'had': 'did'}
_VERB = re.compile(
  rf"(?<![\w'’-])(?:{'|'.join(sorted(_AUXILIARIES | _BASES.keys()))}|"
  rf"(?!hundred|sacred)[a-z]+[^\We]ed)(?![\w'’-])"
)
_NO_VERB_AFTER = re.compile(
  r'(?:^| )(?:the|an?|his|her|its|their|of|and|or|most|more|to|in|very|by|'
  r'with|for|from|between|several|many|some|other|two|three|as|all|both|any|no)$',
  re.IGNORECASE,
)
_PARTICIPLE = re.compile(r'\w+ (?:by|as)\b|(?:called|named|based|located) ')
_APART = re.compile(
  r',|\b(?:and|that|which|who|when|where|but|as|because|if|what)\b'
)
_APPOSITION = re.compile(
  rf'{_GAP}, (?:who|which|an?|the) [^,]*, (?!and\b|or\b)'
)
_PARENTHESES = re.compile(r' ?[(\[][^()\[\]]*[)\]]')
_CUT = re.compile(
  r'; |: | [–—] |—|, (?=(?:and|but|which|who|while|where|whereas|although|'
  r'because|so|or|when) )'
)
_CONNECTOR = re.compile(
  r'^(?:and|but|which|who|while|where|whereas|although|because|so|or|when) '
)
_OPENING = re.compile(
  r'^(?:However|Moreover|Furthermore|Additionally|Therefore|Thus|Also|Similarly|'
  r'Meanwhile|Nevertheless|Nonetheless|Indeed|Finally|Hence|Consequently|'
  r'Likewise|Instead|Eventually|Subsequently|Today|Currently|Generally|'
  r'For (?:example|instance)|In (?:addition|fact|contrast|particular|turn)|'
  r'As a result|On the other hand|At the same time|And|But|Yet|So),? ',
  re.IGNORECASE,
)
_INTRODUCTION = re.compile(
  r'^(?:(?:In|On|At|During|After|Before|By|From|Since|Under|With|As|For|'
  r'Between|Following|Throughout|According|Despite|Due|Because|When|While|'
  r'Although|Though|If|Within|Among|Until|Around|Unlike|Like|Over|Whereas)\b'
  r'[^,]*(?:, \d{4})?, |'
  r'[^,]{1,30} (?:later|earlier|ago|afterwards?|before), |'
  r'(?:In|By|Since|On|Around|During|As of) (?:the |early |late |mid-)?'
  r'(?:\d+ )?(?:[A-Z][a-z]+ )?(?:\d\d?, )?\d{4}s? (?=the |an? |(?-i:[A-Z]))|'
  rf'{_GAP}(?:, | (?=the |an? |(?-i:[A-Z]))))',
  re.IGNORECASE,
)
_SUBORDINATE = re.compile(
  r'(?:As|When|While|Whereas|Although|Though|Because|If|Since|After|Before) ',
  re.IGNORECASE,
)
_REPORT = re.compile(
  rf'.*?\b(?:{"|".join(english.WORDS["speech verbs"])}|concluded|shows?|showed|'
  r'found|think|believe|say|known|thought|reported|estimated|meant?) that |'
  r'it (?:is|was) [\w ]{3,20} that '
)
_ANTECEDENT = re.compile(
  r"(?:\b(?:[Tt]he|[Aa]n?|[Ii]ts|[Tt]heir|[Hh]is|[Hh]er) (?:[\w'-]+ ){0,3}|"
  r"\b(?:[A-Z][\w'-]* (?:of )?)*)[\w'-]+$"
)
_PRONOUN = re.compile(
  r'(?P<he>He|She)\b|(?P<it>It)\b|(?P<his>His|Her)\b|(?P<its>Its)\b|'
  r'(?:They|Their|This|These|Those|That|Such|Some|Others|We|You|I|One|Both)\b',
  re.IGNORECASE,
)
_PREPOSITION = re.compile(
  r' (in|on|at|by|of|to|from|with|for|into|under|through|against|about|after|'
  r'before|between|as|near)$'
)
_PHRASE_START = re.compile(
  r',? (?:in|at|on|for|with|from|by|after|before|during|since|until|because|'
  r'while|when|which|who|where|despite|through|throughout|according) '
)
_SILENT_E = re.compile(r'(?:[cgsuvz]|[^aeiou][aiou][^aeiouwxy])$')
_SPACES = re.compile(r'\s+')
_EDGES = ' ,;:.!?–—-"“”'


def ask(
  text: str,
  asked: question_spans.Asked,
  rng: np.random.Generator,
  *,
  title: str = '',
  is_person: bool = False,
  begins_with_name: bool = False,
  known: Collection[str] = (),
) -> str:
  """Returns a question for a span of a sentence, or '' if none fits.

  Args:
    title: Replaces a pronoun that begins the sentence.
    is_person: Whether `title` is a person: 'he' or 'she', not 'it'.
    begins_with_name: Whether the first word keeps its capital letter.
    known: Words; tell 'hope' from 'hop' for 'hoped'.
  """
  if not begins_with_name:
    text = text[:1].lower() + text[1:]
  marked = f'{text[: asked.first]}{_GAP}{text[asked.last :]}'
  marked = _PARENTHESES.sub(lambda m: m[0] if _GAP in m[0] else '', marked)
  clause = _clause(marked.strip())
  clause = clause and _without_pronoun(clause, title, is_person)
  if not clause:
    return ''
  clause = _moved(clause)
  word = asked.words[rng.integers(len(asked.words))]
  draw = rng.random()
  order = rng.random()
  question = _natural(clause, word, draw, known) if draw < _NATURAL else ''
  question = _shortened(question, rng) or _shuffled(clause, word, order)
  if question.count('"') % 2:
    question = question.replace('"', '')
  question = _SPACES.sub(' ', question).replace(' ,', ',').strip(_EDGES)
  length = len(terms.ONE_WORD.findall(question))
  if not _SHORTEST <= length <= _LONGEST or _GAP in question:
    return ''
  return f'{question[0].upper()}{question[1:]}?'


def _clause(marked: str) -> str:
  """Returns the clause with the gap, with a subject, or ''."""
  marked = _APPOSITION.sub(f'{_GAP} ', marked)
  marked = marked.replace(f'"{_GAP}"', _GAP).replace(', however,', '')
  text = _OPENING.sub('', marked.rstrip(_EDGES), count=1)
  parts = _merged(_CUT.split(text))
  number = next((i for i, part in enumerate(parts) if _GAP in part), 0)
  part = parts[number]
  connector = _CONNECTOR.match(part)
  if connector and number:
    part = part[connector.end() :]
    if connector[0] in ('which ', 'who '):
      before = _ANTECEDENT.search(parts[number - 1])
      part = f'{before[0]} {part}' if before else ''
  part = _reported(_subordinate(part))
  if len(part.split()) > _LONG:
    part = re.sub(rf', [^{_GAP}]*$', '', part)
  return '' if '(' in part or ')' in part or '[' in part else part


def _subordinate(part: str) -> str:
  """Returns the clause of 'when he died, ...' without 'when'."""
  found = _INTRODUCTION.match(part)
  word = _SUBORDINATE.match(part)
  if not found or not word or _GAP not in found[0]:
    return part
  return found[0][word.end() :].rstrip(', ') if _verb(found[0]) else part


def _reported(part: str) -> str:
  """Returns the clause after 'he said that', if the gap is there."""
  found = _REPORT.match(part)
  rest = part[found.end() :] if found else ''
  return rest if _GAP in rest and _verb(rest) else part


def _moved(clause: str) -> str:
  """Returns 'he left in 1990' for 'in 1990, he left'."""
  found = _INTRODUCTION.match(clause)
  rest = clause[found.end() :] if found else ''
  if not found or _GAP in found[0] or not _verb(rest):
    return clause
  return f'{rest} {found[0].rstrip(", ")}'


def _merged(parts: list[str]) -> list[str]:
  """Returns the parts of a sentence, joined until each has a verb."""
  merged: list[str] = []
  for part in parts:
    rest = _CONNECTOR.sub('', part, count=1)
    if merged and (not _verb(merged[-1]) or not _verb(rest)):
      merged[-1] = f'{merged[-1]}, {part}'
    else:
      merged.append(part)
  return merged


def _without_pronoun(clause: str, title: str, is_person: bool) -> str:
  """Returns the clause with the title for a first pronoun; '' if none fits."""
  opening = _INTRODUCTION.match(clause)
  start = opening.end() if opening else 0
  found = _PRONOUN.match(clause[start:])
  if not found:
    return clause
  fits = (
    found['he'] or found['his'] if is_person else found['it'] or found['its']
  )
  if not fits or not title:
    return ''
  name = title if found['he'] or found['it'] else f"{title}'s"
  return clause[:start] + name + clause[start + found.end() :]


def _verb(text: str) -> tuple[re.Match, bool] | None:
  """Returns the main verb of a clause and whether it is an auxiliary."""
  verb = participle = None
  for match in _VERB.finditer(text):
    before = text[: match.start()].rstrip()
    if _NO_VERB_AFTER.search(before):
      continue
    if match[0] not in _AUXILIARIES:
      # In 'the tower built in 1889 is high', 'built' is no main verb.
      if before.endswith(',') or _PARTICIPLE.match(text, match.start()):
        participle = participle or match
      else:
        verb = verb or match
    elif not verb or not _APART.search(text[verb.end() : match.start()]):
      return match, True
    else:
      break
  found = verb or participle
  return (found, False) if found else None


def _natural(
  clause: str, word: str, draw: float, known: Collection[str]
) -> str:
  """Returns an English question, or '' if the clause is not simple."""
  opening = _INTRODUCTION.match(clause)
  # A date that begins the sentence.
  is_first = opening is not None and opening[0].rstrip(', ') == _GAP
  rest = clause[opening.end() :] if opening and is_first else clause
  found = _verb(rest)
  if not found:
    return ''
  verb, is_auxiliary = found
  subject, tail = rest[: verb.start()].strip(), rest[verb.end() :]
  if subject == _GAP:
    return f'{word} {verb[0]}{tail}'
  if is_first and subject:
    return f'{word} {_inverted(subject, verb[0], is_auxiliary, tail, known)}'
  if _GAP not in tail or not subject:
    if subject.count(_GAP) and draw < 0.5 * _NATURAL:
      return rest.replace(_GAP, word)
    return ''
  before, _, after = tail.partition(_GAP)
  front = _PREPOSITION.search(before.rstrip())
  if front and word not in ('where', 'when') and draw < 0.4 * _NATURAL:
    before = before.rstrip()[: front.start()]
    word = f'{front[1]} {"whom" if word == "who" else word}'
  middle = _inverted(subject, verb[0], is_auxiliary, before, known)
  return f'{word} {middle}{after}'


def _shortened(question: str, rng: np.random.Generator) -> str:
  """Returns a question without some of its last phrases, at random."""
  starts = [
    found.start()
    for found in _PHRASE_START.finditer(question)
    if question.count(' ', 0, found.start()) >= _ENOUGH - 1
  ]
  place = int(rng.integers(len(starts) + 1))
  return question[: starts[place]] if place < len(starts) else question


def _inverted(
  subject: str, verb: str, is_auxiliary: bool, tail: str, known: Collection[str]
) -> str:
  """Returns 'was the tower built', or 'did he build the tower'."""
  following = tail.split()[:2]
  is_perfect = any(
    word in _PARTICIPLES or word.endswith('ed') for word in following
  )
  if verb in _HAVE and not is_perfect:
    return f'{_HAVE[verb]} {subject} have{tail}'
  if is_auxiliary:
    return f'{verb} {subject}{tail}'
  do = 'did' if verb in _PAST or verb not in _BASES else 'does'
  return f'{do} {subject} {_BASES.get(verb) or _base(verb, known)}{tail}'


def _base(past: str, known: Collection[str]) -> str:
  """Returns 'create' for 'created', 'stop' for 'stopped'."""
  stem = past[:-2]
  if stem.endswith('i'):
    return f'{stem[:-1]}y' if len(stem) > 2 else f'{stem}e'
  forms = [stem, f'{stem}e']
  if _SILENT_E.search(stem):
    forms.reverse()
  if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in 'sfz':
    forms.insert(stem[-1] == 'l', stem[:-1])
  return next((form for form in forms if form in known), forms[0])


def _shuffled(clause: str, word: str, draw: float) -> str:
  """Returns the parts of a clause in an order of Lewis et al. 2019."""
  before, after = (part.strip(_EDGES) for part in clause.split(_GAP, 1))
  if draw < 0.45:
    return f'{word} {after} {before}'
  if draw < 0.8:
    return f'{word} {before} {after}'
  return f'{before} {word} {after}'
