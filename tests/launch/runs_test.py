"""Runs of recipes: own_text to a page, open_qa from a BERT to its tables.

Their stages are forked from one process.
"""

import gzip
import json
import os
import pathlib
from typing import Any
from unittest import mock

from absl.testing import absltest
import numpy as np

from launch import common
from launch import open_qa
from launch import own_text
from launch import own_text_plan
from launch import runner
import realm_tf
from realm_tf.text import vocabulary
from tests.exchange import small_bert

_NAMES = 'Arlen Borwick Corrin Delby Esker Farrow Galby Hurst'.split()
_WORDS = 'the bridge was built in by who also of a near .'
_NUM_ARTICLES = 150
_STEPS = 2
# Compiling a step takes longer than so few steps.
_OVERRIDES = [
  f'{section}.jit_compile=false'
  for section in ('inverse_cloze', 'pretraining', 'finetuning')
]


def _text(number: int) -> str:
  builder, town = _NAMES[number % 7], _NAMES[(number * 3 + 1) % 8]
  return (
    f'The bridge of {town} was built in {1800 + number} by {builder}. '
    f'A bridge near {town} was also built by {builder}.'
  )


def _write_bert(directory: str, words: list[str]) -> dict[str, Any]:
  """Writes a Hugging Face BERT with random weights; returns its config."""
  pieces = [*vocabulary.SPECIALS, *map(str.lower, words)]
  config = small_bert.CONFIG | {
    'hidden_size': 16,
    'intermediate_size': 16,
    'vocab_size': len(pieces),
    'max_position_embeddings': 256,
  }
  arrays = small_bert.random_weights(config, np.random.default_rng(0))
  arrays = {name: value / 10 for name, value in arrays.items()}
  small_bert.write(directory, config, arrays, pieces)
  return config


class OwnTextRunTest(absltest.TestCase):
  def test_ends_with_a_page_that_answers(self):
    articles = self.create_tempfile(
      'articles.jsonl',
      '\n'.join(
        json.dumps({'title': f'Bridge {number}', 'text': _text(number)})
        for number in range(_NUM_ARTICLES)
      ),
    ).full_path
    years = [str(1800 + number) for number in range(_NUM_ARTICLES)]
    bert = self.create_tempdir().full_path
    _write_bert(bert, [*_WORDS.split(), *_NAMES, *years])
    run_dir = os.path.join(self.create_tempdir().full_path, 'run')
    few = {
      name: (*stage[:3], stage[3] and (1, _STEPS, _STEPS), ())
      for name, stage in own_text_plan.STAGES.items()
    }
    with mock.patch.dict(own_text_plan.STAGES, few):
      own_text.run(
        articles, run_dir, encoder=f'hf:{bert}', overrides=_OVERRIDES
      )
    realm = realm_tf.load(run_dir)
    self.assertLen(realm.search('the bridge of Arlen', 2), 2)
    self.assertTrue(realm.ask('who built the bridge of Delby').prediction)
    with open(os.path.join(run_dir, 'choice.json')) as file:
      self.assertIn("the encoder's embeddings", json.load(file)['text'])


_CITIES = {'Peru': 'Lima', 'France': 'Paris', 'Italy': 'Rome', 'Egypt': 'Cairo'}
_QA_WORDS = '. ? the capital of is what city in lies'.split()


def _write_articles(path):
  texts = (
    (name, f'The capital of {name} is {city}. The city of {city} is in {name}.')
    for name, city in _CITIES.items()
  )
  with gzip.open(path, 'wt') as file:
    for name, text in texts:
      article = {'id': name, 'title': name, 'text': text}
      file.write(json.dumps(article) + '\n')


class OpenQaRunTest(absltest.TestCase):
  def test_makes_a_table_of_each_file_of_questions(self):
    directory = pathlib.Path(self.create_tempdir().full_path)
    names = [word for pair in _CITIES.items() for word in pair]
    bert = _write_bert(str(directory / 'bert'), [*_QA_WORDS, *names])
    _write_articles(directory / 'articles.jsonl.gz')
    asked = {'question': 'What is the capital of Peru?', 'answers': ['Lima']}
    trec = {'question': 'Where is it?', 'answers': ['L.ma|X'], 'regex': True}
    missing = {'question': 'What is the capital?', 'answers': ['Bern']}
    for name, rows in (('nq', [asked, missing]), ('trec', [trec, trec])):
      with open(directory / f'{name}.jsonl', 'w') as file:
        file.writelines(json.dumps(row) + '\n' for row in rows * 10)
    run_dir = directory / 'run'
    arguments = [
      str(directory / 'bert'),
      str(directory / 'articles.jsonl.gz'),
      f'{directory}/nq.jsonl,{directory}/trec.jsonl',
    ]
    recipe = runner.run(
      open_qa.stages, str(run_dir), *arguments, rows='bm25,encoder', layers=1
    )
    [nq] = json.loads((run_dir / 'nq_test.json').read_text())['tables']
    self.assertLen(nq, 3)
    [trec] = json.loads((run_dir / 'trec_test.json').read_text())['tables']
    self.assertEqual([row['recall@20'] for row in trec[1:]], [100.0, 100.0])
    printed = common.printed_tables(recipe).splitlines()
    self.assertRegex(printed[0], r' *system +')
    self.assertRegex(printed[1], r'bm25/nq_test +\d')
    parts = [
      (run_dir / 'questions' / f'{name}.jsonl').read_text().splitlines()
      for name in ('nq_dev', 'nq_test', 'trec_dev', 'trec_test', 'train')
    ]
    self.assertEqual(list(map(len, parts)), [2, 2, 2, 2, 32])
    layers = json.loads((run_dir / 'first_layers/config.json').read_text())
    self.assertEqual(layers, {**bert, 'num_hidden_layers': 1})


if __name__ == '__main__':
  absltest.main()
