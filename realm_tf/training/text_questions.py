"""Makes questions of a corpus's sentences, so that a reader learns from text.

  sentence A with a span y, and a sentence B of the same article with y
    -> question: B with a question word for y;  answer: y in A's block

A question of another sentence has other words than the block, as users'
questions have (Fabbri et al. 2020, https://arxiv.org/abs/2004.11892); and its
block is what REALM's gradient rewards. Without such a B, A asks itself.
"""

import collections
from collections.abc import Iterator
import random
import re

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import held_out
from realm_tf.data import null_block
from realm_tf.data import query_table
from realm_tf.text import question_words
from realm_tf.training import job

_Place = tuple[int, question_words.Answer]  # A sentence and a span of it.
_MOST_OF_SENTENCE = 3  # Questions.
_LONGEST_SENTENCE = 60  # Words; longer ones are mostly lists.
_FEWEST_COMMON = 2  # Words of A in B, next to the answer.
_MOST_COMPARED = 20  # Sentences B.
# Names are most spans of a text, and of few questions; the rest has as many.
_NAMES = 'name'


def from_sentences(
  queries: query_table.QueryTable, inputs: job.Inputs, num_others: int = 0
) -> list[questions_lib.Question]:
  """Returns questions in random order, as many as a job reads, or all.

  Sentences of held-out articles (`held_out.share`) give none. Next to other
  questions they are `sentence_share` of all.

  Args:
    queries: X, after `fit_corpus`.
    num_others: Number of the other questions.

  Raises:
    UserError: No sentence gives a question.
  """
  config = inputs.config
  rows = held_out.others(
    held_out.queries(queries, inputs.table, config.held_out.share)
  )
  rows = rows[queries.own_blocks[rows] != null_block.ID]
  rng = random.Random(config.seed)
  most = config.finetuning.optimizer.num_steps * config.finetuning.batch_size
  if num_others:
    part = config.finetuning.sentence_share
    most = min(most, round(num_others * part / (1 - part)))
  own = queries.own_blocks[rows].tolist()
  sentences = [queries.query(row).text for row in rows]
  made = list(
    _make(
      sentences,
      own,
      inputs.table.titles(own),
      inputs.table.article_ids(own),
      rng,
    )
  )
  if not made and most:
    raise errors.UserError(
      'A sentence must have a name, a number, a date or a noun to ask for. '
      f'Found none in {len(rows)} sentences. Use a larger corpus.'
    )
  rng.shuffle(made)
  names = [question for kind, question in made if kind == _NAMES]
  rest = [question for kind, question in made if kind != _NAMES]
  made_questions = names[: max(len(rest), most - len(rest))] + rest
  rng.shuffle(made_questions)
  return made_questions[:most]


def _make(
  sentences: list[str],
  blocks: list[int],
  titles: list[str],
  ids: list[str],
  rng: random.Random,
) -> Iterator[tuple[str, questions_lib.Question]]:
  """Yields questions and the kinds of their answers."""
  found = [question_words.answers(sentence) for sentence in sentences]
  words = [_words(sentence) for sentence in sentences]
  # (article, text of a span) -> sentences with it.
  places = collections.defaultdict(list)
  for row, spans in enumerate(found):
    for span in spans:
      text = sentences[row][span.start : span.end].lower()
      places[titles[row] or ids[row], text].append((row, span))
  for row, spans in enumerate(found):
    if len(words[row]) > _LONGEST_SENTENCE:
      continue
    for span in rng.sample(spans, min(_MOST_OF_SENTENCE, len(spans))):
      answer = sentences[row][span.start : span.end]
      own = row, span
      others = places[titles[row] or ids[row], answer.lower()]
      asked, its_span = _another(own, others, words, answer, rng)
      question = question_words.ask(
        sentences[asked], its_span, titles[row], rng
      )
      if question and answer.lower() not in question.lower():
        yield (
          span.kind,
          questions_lib.Question(
            question,
            (answer,),
            question_id=f'text-{row}-{span.start}',
            gold_id=ids[row],
            gold_block=blocks[row],
          ),
        )


def _another(
  own: _Place,
  others: list[_Place],
  words: list[frozenset[str]],
  answer: str,
  rng: random.Random,
) -> _Place:
  """Returns a sentence with the span that has most words in common, or `own`.

  Args:
    own: Row and span of the sentence that holds the answer.
    others: Rows and spans of all sentences with the answer's text.
    words: Words of each sentence.
  """
  row, _ = own
  known = words[row] - _words(answer)
  some = [each for each in others if words[each[0]] != words[row]]
  some = rng.sample(some, min(len(some), _MOST_COMPARED))
  common, best = max(
    ((len(known & words[each[0]]), each) for each in some),
    key=lambda pair: pair[0],
    default=(0, own),
  )
  return best if common >= _FEWEST_COMMON else own


def _words(text: str) -> frozenset[str]:
  """Returns the words of a text that carry meaning: the longer ones."""
  return frozenset(re.findall(r'\w{4,}', text.lower()))
