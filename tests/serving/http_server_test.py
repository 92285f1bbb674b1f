"""Tests for realm_tf.serving.http_server."""

import socket
import threading

from absl.testing import absltest

from realm_tf.config import names
from realm_tf.serving import handlers
from realm_tf.serving import request_body
from realm_tf.serving import uvicorn_server
from tests.serving import running_server

_LIMITS = request_body.Limits(questions=4, characters=100)
_TOKEN = 'a-token-of-24-characters'


class ServerTest(running_server.FakeServerTestCase):
  def _run(self, **settings):
    return self.run_fake(handlers.Settings(**settings), _LIMITS, queue_size=4)

  def test_rows(self):
    reply = self._run().predict({'instances': ['who', {'questions': 'where'}]})
    self.assertEqual(reply.status, 200)
    first, second = reply.json['predictions']
    self.assertEqual(first, second)
    self.assertEqual(first['answers'], 'yes')
    self.assertEqual(first['block_ids'], [7, -1])  # `num_read` is 2.
    self.assertEqual(self.answerer.batches, [['who', 'where']])

  def test_columns(self):
    reply = self._run().predict({'inputs': {'questions': ['who', 'none']}})
    outputs = reply.json['outputs']
    self.assertEqual(outputs['answers'], ['yes', ''])
    self.assertEqual(outputs['titles'], [['title', ''], ['', '']])
    self.assertEqual(outputs['scores'], [2.5, -1e9])

  def test_status_metadata_and_versions(self):
    client = self._run()
    for path in ('/v1/models/realm', '/v1/models/realm/versions/3'):
      (status,) = client.get(path).json['model_version_status']
      self.assertEqual(status['version'], '3')
      metadata = client.get(path + '/metadata').json
      self.assertEqual(metadata['model_spec']['version'], '3')
      signature = metadata['metadata']['signature_def']['signature_def']
      outputs = signature['serving_default']['outputs']
      self.assertEqual(
        outputs['block_ids'],
        {
          'dtype': 'DT_INT32',
          'name': 'StatefulPartitionedCall:1',
          'tensor_shape': {
            'dim': [{'size': '-1', 'name': ''}, {'size': '2', 'name': ''}],
            'unknown_rank': False,
          },
        },
      )
      reply = client.request('POST', path + ':predict', {'inputs': ['who']})
      self.assertEqual(reply.status, 200)
    reply = client.get('/v1/models/realm/versions/2')
    self.assertEqual(reply.status, 404)
    self.assertEqual(reply.json, {'error': 'The version must be 3. Found 2.'})

  def test_questions_that_wait_together_are_answered_together(self):
    self._run()
    waits = [self.hold()]
    for i in (1, 2, 3):
      waits.append(self.predict_in_thread('x'))
      self.wait_for_queue(i)
    self.answerer.gate.set()
    self.assertEqual([wait().status for wait in waits], [200] * 4)
    self.assertEqual(self.answerer.batches, [['0'], ['x'] * 3])
    self.wait_for_metric('realm_batch_size_bucket{le="4.0"} 2.0')
    self.wait_for_metric('realm_batch_size_sum 4.0')

  def test_a_full_queue_is_429(self):
    client = self._run()
    first, others = self.hold(), self.predict_in_thread(*'xxxx')
    self.wait_for_queue(4)
    reply = client.predict({'inputs': ['y']})
    self.assertEqual(reply.status, 429)
    self.assertIn('Try again later', reply.json['error'])
    self.assertEqual(reply.headers['Retry-After'], '1')
    self.answerer.gate.set()
    self.assertEqual([first().status, others().status], [200, 200])
    line = 'realm_requests_total{code="429",route="/v1/models/realm:predict"} '
    self.assertIn(f'\n{line}1.0\n', client.get('/metrics').text)

  def test_a_late_answer_is_504_and_waiting_questions_are_dropped(self):
    client = self._run(timeout_secs=0.05)
    self.answerer.gate.clear()
    self.assertEqual(client.predict({'inputs': ['slow']}).status, 504)
    self.assertEqual(client.predict({'inputs': ['waits']}).status, 504)
    self.answerer.gate.set()
    self.running.service.ask(['last'])[0].result(30)
    self.assertEqual(self.answerer.batches, [['slow'], ['last']])

  def test_a_question_that_fails_fails_alone(self):
    client = self._run()
    self.assertEqual(client.predict({'inputs': ['break']}).status, 500)
    first, bad = self.hold(), self.predict_in_thread('break')
    self.wait_for_queue(1)
    good = self.predict_in_thread('x')
    self.wait_for_queue(2)
    self.answerer.gate.set()
    statuses = [wait().status for wait in (first, bad, good)]
    self.assertEqual(statuses, [200, 500, 200])

  def test_best_effort_is_said(self):
    for said in (True, False):
      about = self._run(best_effort=said).get('/api/about').json
      self.assertEqual(about['best_effort'], said)
      self.assertEqual(about['refused'], names.REFUSED)

  def test_token(self):
    client = self._run(token=_TOKEN)
    for path in ('/v1/models/realm', '/api/about', '/metrics'):
      for header in (None, 'Bearer ', 'Bearer wrong', f'Basic {_TOKEN}'):
        headers = {'Authorization': header} if header else {}
        reply = client.get(path, **headers)
        self.assertEqual(reply.status, 401)
        self.assertIn('Bearer TOKEN', reply.json['error'])
      reply = client.get(path, Authorization=f'Bearer {_TOKEN}')
      self.assertEqual(reply.status, 200)
    # Health checks have no token, and the page contains no secret.
    for path in ('/healthz', '/readyz', '/', '/page.js', '/page.css'):
      self.assertEqual(client.get(path).status, 200)

  def test_the_listener_is_tcp_so_that_replies_are_not_delayed(self):
    with uvicorn_server.listen('127.0.0.1', 0) as listener:
      self.assertEqual(listener.proto, socket.IPPROTO_TCP)

  def test_the_page_may_load_nothing_from_elsewhere(self):
    reply = self._run().get('/')
    policy = reply.headers['Content-Security-Policy']
    self.assertIn("default-src 'none'", policy)
    self.assertNotIn('unsafe', policy)
    self.assertNotRegex(reply.text, r'https?://|\sstyle=|\son\w+=')

  def test_shuts_down_after_all_requests_are_answered(self):
    client = self._run()
    first, second = self.hold(), self.predict_in_thread('1')
    self.wait_for_queue(1)
    self.running.server.should_exit = True
    threading.Timer(0.2, self.answerer.gate.set).start()
    self.running.thread.join(30)
    self.assertFalse(self.running.thread.is_alive())
    self.assertEqual([first().status, second().status], [200, 200])
    with self.assertRaises(ConnectionRefusedError):
      client.get('/healthz')


if __name__ == '__main__':
  absltest.main()
