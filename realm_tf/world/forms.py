"""Forms of questions: parts in wordings.txt put in the frames of frames.txt.

  noun "capital", frame "Tell me {np}."
      -> "Tell me the capital of {e}.", "Tell me {g} capital."
  clause "which country | {e} | is | in", frame "Do you know {emb}?"
      -> "Do you know which country {e} is in?"

A form has the blanks {e} (the United States), {g} (the United States') and {x}
(United States). Training uses frames, parts and fillers of 'train' only.
"""

from collections.abc import Iterator, Mapping, Sequence
import functools
import random
import re

from realm_tf.world import fillers
from realm_tf.world import gazetteer
from realm_tf.world import templates

_Phrase = Mapping[str, str]  # Slots of frames, with their texts.
_NAMES = {'e': '{e}', 'x': '{x}'}
_HELD_OUT = ('dev', 'test')
_BASE_FORMS = {'has': 'have', 'goes': 'go'}
_ALIAS_RATE, _LOWER_CASE_RATE, _NO_MARK_RATE = 0.3, 0.3, 0.25
_FILLER_SHARE = 1 / 3  # Of unseen questions: only the fillers are unseen.
_AFTER_NOUNS = (
  r'of|in|for|that|per|on|by|next|around|spoken|used|heard|with|border\w+|where'
  r'|one|besides|people|from|to|near|between|whose|which'
)
_ENDINGS = (  # Of moved questions.
  'in|of|to|from|with|by|on|at|as|off|for|near|behind|after|below|into|under'
  '|inside'
)
_TAILS = '(?:if|when|while|first|soonest|in|by|from)'  # After an ending.
_NO_PRONOUN = r'(of|country|city|name|called) \{e\}|\{g\}|\| (there|it) '
_OBJECTS = r'\{|(the|also|known|their)\b'


def choose(
  wordings: templates.Wordings,
  split: str,
  rng: random.Random,
  unseen: bool = False,
) -> str:
  """Returns a random form of a relation, frames by weight, with fillers."""
  is_known = unseen and rng.random() < _FILLER_SHARE
  frames, weights = zip(
    *_weighted_forms(wordings, split, unseen and not is_known)
  )
  (group,) = rng.choices(frames, weights)
  return fillers.add(
    rng.choice(group), split if unseen else 'train', rng, is_known
  )


def forms(
  wordings: templates.Wordings, split: str, unseen: bool = False
) -> frozenset[str]:
  """Returns all forms of a relation, without fillers and with their <...>.

  With `unseen`, each form has a frame or a part that only `split` has, 'dev' or
  'test'. Otherwise they are the forms of training.
  """
  weighted = _weighted_forms(wordings, split, unseen)
  return frozenset(form for group, _ in weighted for form in group)


@functools.cache
def plain_forms(wordings: templates.Wordings) -> list[str]:
  """Returns direct questions whose {e} may be a noun phrase."""
  frames = [(1, '{q}?'), (1, 'What {be} {np}?')]
  groups = _fill(frames, _phrases(wordings, 'train'))
  return [form for group, _ in groups for form in group if '{e}' in form]


def wrap(question: str, split: str, rng: random.Random) -> str:
  """Puts fillers of a split around a question."""
  return fillers.add(question[0].lower() + question[1:], split, rng)


def write(form: str, entity: gazetteer.Entity, rng: random.Random) -> str:
  """Returns a form as people type it: an alias, lower case, no last mark."""
  name = entity.name
  if entity.aliases and rng.random() < _ALIAS_RATE:
    name = rng.choice(entity.aliases)
  full = templates.with_article(name)
  possessive = full + ("'" if full.endswith('s') else "'s")
  text = form.format(e=full, g=possessive, x=name)
  text = fillers.sentence(text[:1].upper() + text[1:])
  if rng.random() < _LOWER_CASE_RATE:
    text = text.lower()
  return text.rstrip('?.') if rng.random() < _NO_MARK_RATE else text


@functools.cache
def _weighted_forms(
  wordings: templates.Wordings, split: str, unseen: bool
) -> list[tuple[list[str], float]]:
  """Returns pairs of a frame's forms and the frame's weight."""
  known = _phrases(wordings, 'train')
  if not unseen:
    return list(_fill(fillers.frames('train'), known))
  new_frames = list(_fill(fillers.frames(split), known))
  new_parts = list(
    _fill(
      (*fillers.frames('train'), *fillers.frames(split)),
      _phrases(wordings, split),
    )
  )
  # Either kind is half of the questions.
  total, other = (sum(w for _, w in forms) for forms in (new_frames, new_parts))
  return new_frames + [(group, w * total / other) for group, w in new_parts]


def _fill(
  frames: Sequence[tuple[int, str]], phrases: Sequence[_Phrase]
) -> Iterator[tuple[list[str], float]]:
  for weight, frame in frames:
    slots = set(re.findall(r'\{(\w+)\}', frame)) - set(_NAMES)
    group = [
      fillers.sentence(frame.format_map({**_NAMES, **phrase}))
      for phrase in phrases
      if slots <= set(phrase)
    ]
    if group:
      yield group, weight


def _phrases(wordings: templates.Wordings, split: str) -> list[_Phrase]:
  """Returns the slots that a split's nouns and clauses fill."""
  return [
    *(p for x in _of_split(wordings.nouns, split) for p in _noun_slots(x)),
    *(_clause_slots(x) for x in _of_split(wordings.clauses, split)),
  ]


def _of_split(parts: Sequence[str], split: str) -> Iterator[str]:
  for part in parts:
    of, _, text = part.partition(' ')
    if of not in _HELD_OUT:
      of, text = 'train', part
    if of == split:
      yield text


def _noun_slots(noun: str) -> Iterator[_Phrase]:
  """Yields 'the capital of {e}' and '{g} capital'; one if it has a name."""
  head = re.split(rf' (?:{_AFTER_NOUNS}) | {{', noun)[0]
  is_plural = re.search('[^aisu]s$|^people$', head)
  verb = {'be': 'are', 's': ' are'} if is_plural else {'be': 'is', 's': "'s"}
  if re.search(r'\{[eg]\}', noun):
    article = '' if noun.startswith('a ') else 'the '
    yield {**verb, 'np': article + noun, 'key': noun.replace('{e}', '{x}')}
    return
  yield {
    **verb,
    'np': f'the {noun} of {{e}}',
    'n': noun,
    'key': f'{noun} of {{x}}',
    'there': f'what {verb["be"]} its {noun}',
  }
  yield {**verb, 'np': f'{{g}} {noun}'}


def _clause_slots(clause: str) -> _Phrase:
  """Returns the clause as a question, inside another, and with a pronoun."""
  which, subject, verb, rest = map(str.strip, clause.split('|'))
  if not subject:
    question = (which, verb, rest)
  elif verb in ('is', 'are', 'am'):
    question = (which, verb, subject, rest)
  else:
    is_plural = not verb.endswith('s')
    base = verb if is_plural else _BASE_FORMS.get(verb, verb[:-1])
    question = (which, 'do' if is_plural else 'does', subject, base, rest)
  slots = {
    'q': ' '.join(filter(None, question)),
    'emb': ' '.join(filter(None, (which, subject, verb, rest))),
  }
  if subject and subject != 'there':
    slots['moved'] = f'{subject} {verb} {_move(which, rest)}'
  if re.match('(what|where|who) is ', slots['q']):
    slots['qs'] = slots['q'].replace(' is ', "'s ", 1)
  if not re.search(_NO_PRONOUN, clause):
    there = slots['q'].replace(' in {e}', ' there').replace('{e}', 'it')
    slots['there'] = there
  return slots


def _move(which: str, rest: str) -> str:
  """Returns the end of a question like '{e} lies on what continent'."""
  parts = re.fullmatch(rf'(\w*|.*\b(?:{_ENDINGS}))', rest) or re.fullmatch(
    rf'(.*\b(?:{_ENDINGS})) ({_TAILS}\b.*)', rest
  )
  if parts:
    order = (parts[1], which, *parts.groups()[1:])
  elif re.match(rf'({_ENDINGS}|where|how$)\b', which):
    is_last = not re.match(rf'({_ENDINGS}|if|when|while) ', rest)
    order = (rest, which) if is_last else (which, rest)
  elif which in ('what', 'what else', 'who') and re.match(_OBJECTS, rest):
    order = (rest, which)
  else:
    order = (which, rest)
  return ' '.join(filter(None, order))
