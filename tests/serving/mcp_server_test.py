"""Tests of `bin.serve --mcp` with the client of the package mcp."""

import asyncio
import json
import os
import subprocess
import sys

from absl.testing import absltest
import mcp

from realm_tf.qa import loading
from tests import source_tree
from tests.serving import small_models

_CALLS = (
  ('search', {'query': 'a b ?', 'k': 3}),
  ('ask', {'question': 'a b ?'}),
  ('article', {'id': 3}),
  ('search', {'query': 'a', 'k': 0}),
  ('ask', {'question': ''}),
  ('article', {'id': 99}),
)
_REFUSALS = '1 or more. Found 0', 'must not be empty', 'no block 99'
_WITHOUT_MCP = (
  'import sys; sys.modules["mcp"] = None; from bin import launcher; '
  'sys.exit(launcher.call("serve", ["--mcp", "--model_dir=."]))'
)


async def _talk(command):
  """Returns the replies to `_CALLS`."""
  async with mcp.Client(command) as client:
    return [await client.call_tool(*call) for call in _CALLS]


class McpServerTest(absltest.TestCase):
  def test_an_assistant_searches_asks_and_reads(self):
    directory = self.create_tempdir().full_path
    model_dir, corpus_dir = small_models.write_all(directory)
    wire = os.path.join(directory, 'wire')
    serve = [sys.executable, '-m', 'bin.serve', '--mcp']
    serve += [f'--model_dir={model_dir}', f'--corpus_dir={corpus_dir}']
    command = mcp.StdioServerParameters(
      command='bash',
      args=['-c', '"$@" | tee "$0"', wire, *serve],
      env={**os.environ},
      cwd=source_tree.ROOT,
    )
    search, ask, article, *refused = asyncio.run(_talk(command))
    answerer = loading.load_answerer(model_dir, corpus_dir)
    found, (answer,) = answerer.search('a b ?', 3), answerer.answer(['a b ?'])
    for told, each in zip(search.structured_content['result'], found):
      self.assertAlmostEqual(told['score'], each.score, places=4)
      self.assertEqual((told['id'], told['title'], told['text']), each[:3])
    best, told = answer.evidence[0], ask.structured_content
    for name in ('probability', 'null_probability'):
      self.assertAlmostEqual(told.pop(name), getattr(answer, name), places=4)
    expected = {'answer': answer.prediction, 'is_refused': False}
    expected |= {'title': best.title, 'id': best.block_id, 'text': best.text}
    expected['article_id'] = best.article_id
    self.assertEqual(told, expected)
    whole = {'title': 'c', 'text': 'B d. C e.\nD f. E a.'}
    self.assertEqual(article.structured_content, whole)
    for reply, message in zip(refused, _REFUSALS, strict=True):
      self.assertTrue(reply.is_error)
      self.assertIn(message, reply.content[0].text)
    with open(wire) as lines:  # Nothing else was written to stdout.
      self.assertEqual({json.loads(line)['jsonrpc'] for line in lines}, {'2.0'})

  def test_a_missing_extra_is_one_line(self):
    command = [sys.executable, '-c', _WITHOUT_MCP]
    done = subprocess.run(command, capture_output=True, check=False)
    self.assertEqual(done.returncode, 2)
    said = rb"\AERROR: .*install 'realm_tf\[mcp\]'.*\n\Z"
    self.assertRegex(done.stderr, said)


if __name__ == '__main__':
  absltest.main()
