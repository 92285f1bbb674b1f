"""Tests that nothing leaves the machine, and nothing stays in the home."""

import http.server
import os
import pathlib
import subprocess
import sys
import threading

from absl.testing import absltest

from tests import source_tree
from tests import tiny

# All imports of a recipe's stages, the server's too; then a binary runs.
_SCRIPT = """
import sys
import bin
import launch.preloaded
from realm_tf.serving import handlers
from realm_tf.serving import pictures
try:
  from realm_tf.model import openvino_encoder
except Exception as error:
  print(error)
from bin import launcher
sys.exit(launcher.call('make_blocks', sys.argv[1:]))
"""


class PrivacyTest(absltest.TestCase):
  def test_no_request_and_no_file_in_the_home(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    home = folder / 'home'
    home.mkdir()
    asked = []

    class Proxy(http.server.BaseHTTPRequestHandler):
      def do_CONNECT(self):  # noqa: N802
        asked.append(self.path)
        self.send_error(502)

      do_GET = do_POST = do_CONNECT  # noqa: N815

    proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Proxy)
    self.addCleanup(proxy.server_close)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    self.addCleanup(proxy.shutdown)
    url = f'http://127.0.0.1:{proxy.server_port}'
    names = ('http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY')
    articles, vocabulary = folder / 'articles', folder / 'vocab.txt'
    articles.mkdir()
    (articles / 'a.jsonl').write_text('{"title": "A", "text": "A b. B."}\n')
    (articles / 'b.html').write_text(
      f'<html><head><base href="{url}"><link rel="stylesheet" href="{url}/a">'
      f'</head><body><h1>A</h1><p>A b.<img src="{url}/b"></p></body></html>'
    )
    vocabulary.write_text('\n'.join(tiny.TOKENIZER.vocabulary) + '\n')
    environment = {
      name: value
      for name, value in os.environ.items()
      if not name.startswith(('XDG_', 'KERAS_', 'MPL', 'HF_', 'CI'))
    }
    subprocess.run(
      [
        *(sys.executable, '-c', _SCRIPT, f'--input={articles}'),
        *(f'--vocab_file={vocabulary}', f'--output_dir={folder}/corpus'),
      ],
      cwd=source_tree.ROOT,
      env={**environment, 'HOME': str(home), **dict.fromkeys(names, url)},
      check=True,
    )
    self.assertTrue((folder / 'corpus/manifest.json').exists())
    self.assertEqual([str(p) for p in home.rglob('*')], [])
    self.assertEqual(asked, [])


if __name__ == '__main__':
  absltest.main()
