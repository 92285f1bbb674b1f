r"""Looks at articles and questions before anything is made of them.

  python -m bin.survey --input=articles.jsonl --questions=questions.jsonl \
      --output_dir=runs/survey

Writes survey.json: counts of articles, words, and sentences with a salient
span, and the speed of this machine. articles.jsonl has the articles, of any
format, so that they are converted once. Questions are divided by article into
train_questions.jsonl and held_out_questions.jsonl, a tenth.
"""

from collections.abc import Iterable, Iterator
import json
import os

from . import article_flags
from . import config_flags
from . import launcher
from . import question_flags

from absl import flags

from realm_tf import json_text
from realm_tf.corpus import article_records
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import terms
from realm_tf.data import surveying
from realm_tf.model import realm_model
from realm_tf.model import speed
from realm_tf.run import outputs
from realm_tf.training import taggers

flags.mark_flag_as_required('input')
article_flags.define_format()
_TAGGER = flags.DEFINE_string(
  'tagger', 'rules+terms', 'Salient spans, as --tagger of bin.make_queries.'
)
_VOCABULARY = 8000  # Wordpieces of a model without a size.


def _written(
  articles: Iterable[article_records.Article], path: str
) -> Iterator[article_records.Article]:
  """Yields the articles, and writes them as JSON lines."""
  with open(path, 'wb') as file:
    for article in articles:
      line = json.dumps(article_records.record(article), ensure_ascii=False)
      file.write(f'{line}\n'.encode(errors='replace'))  # Halves of surrogates.
      yield article


def _look(output_dir, counts):
  questions = question_flags.read()
  articles = article_flags.read('Looking', counts)
  survey, names = surveying.look(
    _written(articles, os.path.join(output_dir, 'articles.jsonl')),
    lambda texts: taggers.make(
      _TAGGER.value,
      find_terms=lambda: terms.find(text.split('\n') for text in texts),
    ),
    ids={question.gold_id for question in questions},
  )
  result = {**survey, 'left_out': counts.summary().strip()}
  sides = surveying.split(questions, names)
  for name, side in zip(('train', 'held_out'), sides, strict=True):
    path = os.path.join(output_dir, f'{name}_questions.jsonl')
    questions_lib.write_questions(side, path)
    result[f'num_{name}_questions'] = len(side)
  return result


def main(_):
  output_dir, counts = article_flags.begin()
  with outputs.publishing(output_dir) as (staging, _):
    result = _look(staging, counts)
    config = config_flags.config()
    model = config.model
    if not model.embedder_bert.vocab_size:
      model = realm_model.with_vocab_size(model, _VOCABULARY)
    result['train_secs'] = speed.train_secs(model, config.lengths.block_tokens)
    json_text.write(os.path.join(staging, 'survey.json'), result)
  print(f'{json.dumps(result)}{counts.summary()}')


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
