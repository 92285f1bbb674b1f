r"""Looks at articles and questions before anything is made of them.

  python -m bin.survey --input=articles.jsonl --questions=questions.jsonl \
      --output_dir=runs/survey

Writes survey.json: counts of articles, words, and sentences with a salient
span, and the speed of this machine. Questions are divided by article into
train_questions.jsonl and held_out_questions.jsonl, a tenth.
"""

from collections.abc import Sequence
import json
import os

from . import article_flags
from . import config_flags
from . import launcher
from . import question_flags

from absl import flags

from realm_tf import json_text
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms
from realm_tf.data import surveying
from realm_tf.model import realm_model
from realm_tf.model import speed
from realm_tf.training import taggers

flags.mark_flag_as_required('input')
article_flags.define_format()
_TAGGER = flags.DEFINE_string(
  'tagger', 'rules+terms', 'Salient spans, as --tagger of bin.make_queries.'
)
_VOCABULARY = 8000  # Wordpieces of a model without a size.


def _train_secs() -> float:
  """Returns seconds of one core to train the config's encoder on a token."""
  config = config_flags.config()
  model = config.model
  if not model.embedder_bert.vocab_size:
    model = realm_model.with_vocab_size(model, _VOCABULARY)
  return speed.train_secs(model, config.lengths.block_tokens)


def _tagger(texts: Sequence[str]) -> salient_spans.Tagger:
  return taggers.make(
    _TAGGER.value,
    find_terms=lambda: terms.find(text.split('\n') for text in texts),
  )


def main(_):
  output_dir = article_flags.new_output_dir()
  questions = question_flags.read()
  counts = article_flags.new_counts()
  articles = article_flags.read('Looking', counts)
  ids = {question.gold_id for question in questions}
  survey, names = surveying.look(articles, _tagger, ids)
  trained, held_out = surveying.split(questions, names)
  result = {
    **survey._asdict(),
    'num_train_questions': len(trained),
    'num_held_out_questions': len(held_out),
    'train_secs': _train_secs(),
  }
  for name, side in (('train', trained), ('held_out', held_out)):
    path = os.path.join(output_dir, f'{name}_questions.jsonl')
    questions_lib.write_questions(side, path)
  json_text.write(os.path.join(output_dir, 'survey.json'), result)
  print(f'{json.dumps(result)}{counts.summary()}')


if __name__ == '__main__':
  launcher.run(main, reads=config_flags.ALL)
