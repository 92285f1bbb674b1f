"""Tests names of the Hugging Face hub against a hub on loopback."""

import hashlib
import http.server
import json
import os
import threading
from unittest import mock

from absl.testing import absltest
from huggingface_hub import constants

from realm_tf import errors
from realm_tf.exchange import hugging_face_hub

_SHA = 'a' * 40
_FILES = {
  'config.json': b'{"model_type": "bert"}',
  '1_Pooling/config.json': b'{}',
  'model.safetensors': b'weights',
  'vocab.txt': b'[PAD]\n',
  'pytorch_model.bin': b'a pickle',
}


class _Hub(http.server.BaseHTTPRequestHandler):
  """Has one model, `ours/reader`; counts the requests."""

  asked: list[str] = []

  def do_GET(self):
    self._answer()

  def do_HEAD(self):
    self._answer()

  def log_message(self, *_):
    pass

  def _answer(self):
    self.asked.append(self.path)
    path = self.path.partition('?')[0]
    content, headers = b'{"error": "none"}', {}
    if path.startswith('/api/models/ours/reader/revision/'):
      found = [{'rfilename': name} for name in _FILES]
      content = {'id': 'ours/reader', 'sha': _SHA, 'siblings': found}
    elif path.startswith('/api/models/ours/reader/tree/'):
      content = [
        {'type': 'file', 'path': name, 'size': len(data), 'oid': _oid(data)}
        for name, data in _FILES.items()
      ]
    elif path.startswith(f'/ours/reader/resolve/{_SHA}/'):
      content = _FILES[path.split('/', 5)[5]]
      headers = {'ETag': f'"{_oid(content)}"', 'X-Repo-Commit': _SHA}
    else:
      headers = {'X-Error-Code': 'RepoNotFound'}
    if not isinstance(content, bytes):
      content = json.dumps(content).encode()
    self.send_response(404 if 'X-Error-Code' in headers else 200)
    headers['Content-Length'] = str(len(content))
    for name, value in headers.items():
      self.send_header(name, value)
    self.end_headers()
    if self.command == 'GET':
      self.wfile.write(content)


def _oid(data):
  return hashlib.sha1(data).hexdigest()


class HuggingFaceHubTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    _Hub.asked.clear()
    self.hub = http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Hub)
    thread = threading.Thread(target=self.hub.serve_forever, args=(0.01,))
    thread.start()
    self.addCleanup(thread.join)
    self.addCleanup(self._close)
    self.cache = self.create_tempdir().full_path
    endpoint = f'http://127.0.0.1:{self.hub.server_port}'
    settings = mock.patch.multiple(
      constants,
      ENDPOINT=endpoint,
      HUGGINGFACE_CO_URL_TEMPLATE=endpoint
      + '/{repo_id}/resolve/{revision}/{filename}',
      HF_HUB_CACHE=self.cache,
      HF_HUB_DISABLE_PROGRESS_BARS=True,
      HF_HUB_OFFLINE=False,
    )
    settings.start()
    self.addCleanup(settings.stop)

  def _close(self):
    self.hub.shutdown()
    self.hub.server_close()

  def _offline(self):
    return mock.patch.object(constants, 'HF_HUB_OFFLINE', True)

  def test_copies_the_files_that_run_no_code_once(self):
    path = hugging_face_hub.directory('ours/reader')
    self.assertStartsWith(path, os.path.realpath(self.cache))
    for name, data in _FILES.items():
      copy = os.path.join(path, name)
      if name.endswith('.bin'):
        self.assertFalse(os.path.exists(copy))
      else:
        with open(copy, 'rb') as file:
          self.assertEqual(file.read(), data)
    count = len(_Hub.asked)
    with self._offline():
      self.assertEqual(hugging_face_hub.directory('ours/reader'), path)
    self.assertLen(_Hub.asked, count)

  def test_a_directory_wins_over_a_name_and_a_path_asks_nobody(self):
    local = self.create_tempdir('mine').full_path
    for path in (local, '/no/such', './no/such', 'a/b/c', 'gs://a/b'):
      self.assertEqual(hugging_face_hub.directory(path), path)
    self.assertEmpty(_Hub.asked)

  def test_a_model_that_cannot_be_had_is_one_line(self):
    for name in ('ours/raeder', 'reader', 'ours/no--double'):
      with self.assertRaisesRegex(
        errors.UserError, f'hub as OWNER/MODEL. Found no directory {name}'
      ) as caught:
        hugging_face_hub.directory(name)
      self.assertNotIn('\n', str(caught.exception))
    with self._offline(), self.assertRaisesRegex(errors.UserError, 'Correct'):
      hugging_face_hub.directory('ours/reader')


if __name__ == '__main__':
  absltest.main()
