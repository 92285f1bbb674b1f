"""Tests the snippets of docs/use_it_from.md, taken from the page itself."""

import importlib.util
import json

from absl.testing import absltest
from absl.testing import parameterized

import realm_tf
from tests import source_tree
from tests.serving import small_models

_PAGE = (source_tree.ROOT / 'docs/use_it_from.md').read_text()


def _snippet(heading):
  return _PAGE.split(f'\n## {heading}\n')[1].split('```')[1].partition('\n')[2]


class UseItFromTest(parameterized.TestCase):
  @parameterized.parameters(
    ('LangChain', 'langchain_core', 'x.page_content', 'invoke(_)'),
    ('Haystack', 'haystack', 'x.content', 'run(_)["documents"]'),
    ('LlamaIndex', 'llama_index', 'x.text', 'retrieve(_)'),
  )
  def test_a_retriever_finds_the_same(self, heading, library, text, call):
    code = _snippet(heading)
    self.assertLessEqual(code.count('\n'), 15)
    if not importlib.util.find_spec(library):
      self.skipTest(f'{library} is not installed.')
    model_dir, _ = small_models.write_all(self.create_tempdir().full_path)
    names = {'DIR': model_dir, '_': 'a b ?', '__name__': heading}
    usage = f'\nfound = [{text} for x in Realm().{call}]'
    exec(code + usage, names)  # pylint: disable=exec-used
    expected = realm_tf.load(model_dir).search('a b ?')
    self.assertEqual(names['found'], [x.text for x in expected])

  def test_an_assistant_s_configuration(self):
    (server,) = json.loads(_snippet('MCP'))['mcpServers'].values()
    self.assertEqual(server['command'], 'realm-serve')
    self.assertEqual(server['args'], ['--mcp', '--model_dir=DIR'])


if __name__ == '__main__':
  absltest.main()
