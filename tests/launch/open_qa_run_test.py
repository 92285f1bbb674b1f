"""Runs rows of launch/open_qa.py, from a BERT to their tables."""

import gzip
import json
import pathlib

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from launch import common
from launch import open_qa
from launch import runner
from realm_tf.model import weights
from tests.exchange import numpy_bert

_CITIES = {'Peru': 'Lima', 'France': 'Paris', 'Italy': 'Rome', 'Egypt': 'Cairo'}
_WORDS = '. ? the capital of is what city in lies'.split()
_VOCABULARY = [
  *('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', *_WORDS),
  *(word.lower() for pair in _CITIES.items() for word in pair),
]
_BERT = numpy_bert.CONFIG | {
  'hidden_size': 16,
  'intermediate_size': 16,
  'vocab_size': len(_VOCABULARY),
  'max_position_embeddings': 200,
}


def _write_bert(directory):
  directory.mkdir()
  (directory / 'config.json').write_text(json.dumps(_BERT))
  (directory / 'vocab.txt').write_text('\n'.join(_VOCABULARY))
  arrays = numpy_bert.random_weights(_BERT, np.random.default_rng(0))
  weights.write(
    [tf.Variable(value / 10, name=name) for name, value in arrays.items()],
    str(directory / 'model.safetensors'),
  )


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
    _write_bert(directory / 'bert')
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
    runner.run(
      open_qa.stages, str(run_dir), *arguments, rows='bm25,encoder', layers=1
    )
    [nq] = json.loads((run_dir / 'nq_test.json').read_text())['tables']
    self.assertLen(nq, 3)
    [trec] = json.loads((run_dir / 'trec_test.json').read_text())['tables']
    self.assertEqual([row['recall@20'] for row in trec[1:]], [100.0, 100.0])
    printed = common.printed_tables(str(run_dir)).splitlines()
    self.assertRegex(printed[0], r' *system +')
    self.assertRegex(printed[1], r'bm25/nq_test +\d')
    parts = [
      (run_dir / 'questions' / f'{name}.jsonl').read_text().splitlines()
      for name in ('nq_dev', 'nq_test', 'trec_dev', 'trec_test', 'train')
    ]
    self.assertEqual(list(map(len, parts)), [2, 2, 2, 2, 32])
    layers = json.loads((run_dir / 'first_layers/config.json').read_text())
    self.assertEqual(layers, {**_BERT, 'num_hidden_layers': 1})


if __name__ == '__main__':
  absltest.main()
