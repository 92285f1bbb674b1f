"""Tests that a user's mistake ends a binary with code 2 and one line.

light_start_test.py has the mistakes that need no TensorFlow: missing files,
unknown flags, wrong keys of --set. A few calls that write files share the
process.
"""

import json
import os
import pathlib
import tempfile

from absl.testing import absltest

from tests import forks
from tests.bin import good_calls
from tests.bin import good_flags
from tests.bin import mistake_files

_READ = ('report', 'run_dir'), ('results_table', 'run_dir')
_TRAINERS = 'warm_start', 'pretrain', 'finetune'


def _cases(files):
  """Yields (binary, wrong flags, text that the error must contain)."""
  missing, broken, other = files.missing, files.broken, files.other_corpus
  for prefix in ('beir:', 'hf_disk:'):
    yield 'make_blocks', {'input': prefix + missing}, missing
  for name, (flags, _) in good_flags.ALL.items():
    for flag in {'output_dir', 'run_dir', 'output'}.intersection(flags.split()):
      if (name, flag) not in _READ:  # Not a directory, as of another user.
        path = os.path.join(broken, 'x')
        yield name, {flag: path}, f'{path} must be writable'
  yield 'export', {'output_dir': files.corpus}, 'new or empty'
  yield 'make_blocks', {'links': 'both'}, 'links'
  yield 'make_blocks', {'links': 'titles', 'append': files.corpus}, '--links'
  yield 'make_blocks', {}, f'{broken}:2'
  yield 'make_queries', {}, f'{broken}:2'
  for wrong in ({'format': 'tagged'}, {'max_articles': '9'}):
    yield 'make_queries', {'runner': 'direct', **wrong}, 'whole files'
  yield 'make_queries', {'output_dir': files.corpus}, 'must be new'
  yield 'make_blocks', {'output_dir': files.model}, 'must be new'
  yield 'survey', {}, f'{broken}:2'
  wrong = {'tagger': 'spacy:en_none'}
  yield 'make_queries', wrong, 'spacy download en_none'
  yield 'train_tagger', {}, f'{broken}:2'
  yield 'train_tagger', {'init_from': files.model}, '--init_from'
  yield 'unpack_demo', {'predictions': files.other_predictions}, 'right answer'
  yield 'results_table', {}, files.other_run
  sentences = {'queries_dir': files.queries, 'retriever': 'none'}
  yield 'evaluate', sentences, '--retriever=none'
  yield from _report_cases(files)
  yield from _serve_cases(files)
  yield 'warm_start', {'run_dir': files.model, 'questions': ''}, 'must be new'
  yield 'train_closed_book', {'run_dir': files.model}, 'must be new'
  yield 'finetune', {'questions': ''}, '--queries_dir and --questions'
  yield 'evaluate', {'retriever': 'none'}, 'bin.train_closed_book'
  yield 'train_path', {'run_dir': files.model}, '--links=markup'
  for name in ('graph', 'path'):
    yield 'finetune', {'retriever': name}, '--init_from'
  yield 'pretrain', {'queries_dir': files.corpus}, files.corpus
  yield 'pretrain', {'corpus_dir': other}, 'corpus_fingerprint'
  yield 'pretrain', {'corpus_dir': files.queries}, files.queries
  several = {'worker_hosts': 'a:1,b:2', 'task_index': '2'}
  several['distribution_strategy'] = 'multi_worker_mirrored'
  yield 'warm_start', several, '--task_index'
  uneven = {'distribution_strategy': 'mirrored', 'logical_cpus': '3'}
  uneven |= {'set': 'inverse_cloze.batch_size=4', 'questions': ''}
  yield 'warm_start', uneven, '4 and 3 replicas'
  yield 'plan_tpu', {'compiler': missing}, 'launch/tpu_compiler.sh'
  yield 'plan_tpu', {'topology': 'h100'}, "'h100'"
  yield 'plan_tpu', {'programs': 'x'}, 'block_embedding'
  yield 'refresh_index', {'run_dir': missing}, missing
  yield 'refresh_index', {'worker': '1'}, '--num_workers'
  yield 'refresh_index', {'num_workers': 'x'}, 'num_workers'
  for name in ('average_models', 'import_checkpoint'):
    yield name, {'output_dir': files.model}, '/params.'
  yield 'average_models', {'weight': '2'}, 'weight'
  yield 'build_index', {'output_dir': files.other_index}, 'corpus_fingerprint'
  for name in ('build_index', 'refresh_index'):
    yield name, {'set': 'lengths.query_tokens=50'}, 'index. or lengths.cut'
    wrong = {'distribution_strategy': 'multi_worker_mirrored'}
    yield name, wrong, '--num_workers'
  yield 'import_checkpoint', {'source': files.model}, 'hf:DIR or tf1:PREFIX'
  yield 'export', {'format': 'x'}, 'hugging_face'
  yield 'export', {'format': 'saved_model'}, '--corpus_dir'
  config = os.path.join(files.model, 'config.json')
  for name, field, least in (
    # A block of `tiny` has a title of one wordpiece and a body of 6: with
    # [CLS] and two [SEP] that is 10.
    *((each, 'lengths.block_tokens', 10) for each in _TRAINERS),
    # [CLS] x [SEP] has 8; body and [SEP] are 7 more. A question has 6.
    ('pretrain', 'lengths.joint_tokens', 15),
    ('finetune', 'finetuning.joint_tokens', 15),
  ):
    wrong = {'config': config, 'set': f'{field}={least - 1}'}
    if name == 'warm_start':
      wrong['questions'] = ''  # BM25 would search these blocks first.
    yield name, wrong, f'{field}={least - 1}, up to {least}'
  for name in ('finetune', 'evaluate', 'warm_start', 'train_path'):
    yield name, {'questions': broken}, f'{broken}:2'
  yield 'calibrate', {'model_dir': files.held}, 'Only one job may write'
  yield 'evaluate', {'recall_at': '0'}, 'recall_at'
  yield 'evaluate', {'model_dir': ''}, 'model_dir'
  yield 'evaluate', {'answer_by': 'token'}, 'answer_by'
  yield 'evaluate', {'qrels': broken}, f'{broken}:2'
  unasked = {'queries_dir': files.queries, 'questions': ''}
  unasked['trec_run'] = files.new
  yield 'evaluate', unasked, '--trec_run need one --questions'
  unlinked = {'retriever': 'bm25_graph', 'model_dir': ''}
  yield 'evaluate', unlinked, '--links=markup'
  for name in ('answer', 'evaluate'):
    for kind in ('graph', 'path'):
      yield name, {'retriever': kind}, '--links=markup'
  bm25 = {'retriever': 'bm25', 'model_dir': ''}
  for name, value in (('sparse_weight', '1'), ('reader_dir', files.model)):
    yield 'evaluate', {**bm25, name: value}, '--' + name
  for name in ('answer', 'evaluate', 'serve'):
    yield name, {'reader_dir': files.retriever_only}, '--reader_dir'
    yield name, {'index_dir': files.other_index}, 'of the corpus'
    yield name, {'corpus_dir': other}, 'of the corpus'


def _serve_cases(files):
  yield 'serve', {'host': 'no.such.host.invalid'}, '--host'
  yield 'serve', {'port': '65536'}, 'port'
  yield 'serve', {'token_file': files.broken}, '--token_file'
  yield 'serve', {'watch_corpus': files.corpus}, '--documents_log'
  words = {'retriever': 'tfidf', 'documents_log': files.new + '.log'}
  yield 'serve', words, '--retriever=tfidf'
  for path in (files.corpus, files.broken, os.path.join(files.missing, 'log')):
    yield 'serve', {'documents_log': path}, path
  yield 'serve', {'pretrained_dir': files.model}, 'fills masks'


def _report_cases(files):
  yield 'report', {'run_dir': files.corpus}, 'metrics.jsonl'
  yield 'report', {'eval_dir': files.log}, 'metrics.json must be a readable'
  config = os.path.join(files.model, 'config.json')
  yield 'report', {'results': config}, '--results'
  yield (
    'report',
    {'output': os.path.join(files.missing, 'x.html')},
    files.missing,
  )
  yield 'report', {'output': files.corpus}, files.corpus


def _as_flags(values):
  return [f'--{name}={value}' for name, value in values.items() if value]


class UserMistakesTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    files = mistake_files.Files(directory)
    cls.cases, cls.new = list(_cases(files)), files.new
    mistakes = [
      (name, _as_flags({**files.good_flags(name), **wrong}))
      for name, wrong, _ in cls.cases
    ]
    cls.folder = pathlib.Path(directory, 'calls')
    cls.folder.mkdir()
    calls = good_calls.calls(cls.folder, files.vocabulary)
    asks = [*_as_flags(files.good_flags('answer')), '--json']
    calls['answer'] = 'answer', asks
    results = forks.run_all([*calls.values(), *mistakes])
    cls.results = dict(zip(calls, results))
    cls.of_mistakes = results[len(calls) :]

  def test_code_2_and_one_line_that_names_the_mistake(self):
    for (name, wrong, said), result in zip(
      self.cases, self.of_mistakes, strict=True
    ):
      with self.subTest(f'{name} {wrong}'):
        self.assertEqual(result.code, 2, result)
        self.assertRegex(result.stderr, r'\AERROR: [^\n]+\n\Z')
        self.assertIn(said, result.stderr)
        self.assertNotIn('Traceback', result.stdout)
    self.assertFalse(os.path.exists(self.new))  # No run directory, no output.

  def test_imports_and_exports(self):
    imported, exported = self.results['import'], self.results['export']
    self.assertEqual(imported.code, 0, imported)
    self.assertIn('left over: 0', imported.stdout)
    index = f'{self.folder}/imported/index/000000000'
    self.assertIn(f'Wrote {index}.', imported.stdout)
    self.assertEqual(exported.code, 0, exported)
    self.assertIn('shared_embedder/projection/kernel', exported.stdout)
    files = 'config.json model.safetensors special_tokens_map.json'
    files += ' tokenizer.json tokenizer_config.json vocab.txt'
    found = os.listdir(self.folder / 'exported')
    self.assertCountEqual(found, files.split())

  def test_a_plan_of_too_large_a_program_is_one_line_and_a_users_mistake(self):
    result = self.results['plan']
    self.assertEqual(result.code, 2, result.stderr)
    self.assertIn('Found 1 of 1 that do not', result.stderr)
    (row,) = json.loads((self.folder / 'plan.json').read_text())
    said = 'Found 34.9 GB, mostly temporaries, 18.0 GB above its 16.9. Try: '
    self.assertIn(said, row['problem'])
    self.assertIn(row['problem'], result.stdout.splitlines())

  def test_unpacking_writes_a_new_directory(self):
    for name in ('texts', 'changed'):
      result = self.results[name]
      self.assertEqual(result.code, 0, result.stderr)
      self.assertTrue((self.folder / 'new' / name / 'articles.jsonl').exists())
    fact = json.loads((self.folder / 'new/changed/changed.json').read_text())
    self.assertEqual(fact['new_answer'], 'French')

  def test_an_answer_is_one_line_of_json_and_cut_from_its_evidence(self):
    result = self.results['answer']
    self.assertEqual((result.code, result.stderr), (0, ''))
    row = json.loads(result.stdout)
    self.assertEqual((row['question'], result.stdout.count('\n')), ('a', 1))
    for item in row['evidence']:
      answer = item['text'][item['start'] : item['end']]
      self.assertEqual(answer, item['answer'])
    self.assertEqual(row['prediction'], row['evidence'][0]['answer'])

  def test_writes_a_corpus_or_reports_a_broken_line(self):
    good, bad = self.results['blocks'], self.results['broken']
    self.assertEqual((good.code, good.stderr), (0, ''))
    self.assertEqual(bad.code, 2)
    broken = self.folder / 'broken.jsonl'
    self.assertRegex(bad.stderr, rf'^ERROR: {broken}:1 must be .*\n$')
    # The old corpus is unchanged.
    manifest = json.loads((self.folder / 'corpus/manifest.json').read_text())
    self.assertEqual(manifest['num_blocks'], 1)


if __name__ == '__main__':
  absltest.main()
