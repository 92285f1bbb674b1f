"""Tests for realm_tf.serving.http_server and realm_tf.serving.handlers."""

import threading

from absl.testing import absltest

from realm_tf.config import names
from realm_tf.serving import handlers
from realm_tf.serving import service as service_lib
from tests.serving import running_server

_TOKEN = 'a-token-of-24-characters'


class ServerTest(running_server.FakeServerTestCase):
  def _run(self, **settings):
    return self.run_fake(handlers.Settings(**settings))

  def test_predict(self):
    body = {'instances': ['who', 'none']}
    reply = self._run().predict(body)
    self.assertEqual(reply.status, 200)
    first, second = reply.json['predictions']
    self.assertEqual(
      first,
      {
        'answers': 'yes',
        'scores': 2.5,
        'probabilities': 0.75,
        'null_probabilities': 0.25,
        'is_refused': False,
        'block_ids': [7],
        'titles': ['title'],
        'texts': ['Oh yes.'],
        'starts': [3],
        'ends': [6],
        'evidence_answers': ['yes'],
        'evidence_scores': [2.5],
        'retrieval_probabilities': [1.0],
      },
    )
    self.assertEqual((second['answers'], second['scores']), ('', -1e9))
    self.assertEqual(second['block_ids'], [])
    self.assertEqual(self.answerer.batches, [['who', 'none']])

  def test_ask(self):
    reply = self._run().post('/api/ask', {'question': 'who'}).json
    (item,) = reply.pop('evidence')
    self.assertEqual(
      reply,
      {
        'question': 'who',
        'answer': 'yes',
        'probability': 0.75,
        'is_refused': False,
        'null_probability': 0.25,
      },
    )
    self.assertEqual((item['block_id'], item['sentence']), (7, [0, 7]))
    # The read block has 1.0 of the 0.75 that the null block leaves.
    self.assertEqual((item['p_z'], item['changed']), (0.75, False))

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
    client = self.run_fake(queue_size=128)
    first, others = self.hold(), self.predict_in_thread(*'x' * 128)
    self.wait_for_queue(128)
    reply = client.predict({'instances': ['y']})
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
    self.assertEqual(client.predict({'instances': ['slow']}).status, 504)
    self.assertEqual(client.predict({'instances': ['waits']}).status, 504)
    self.answerer.gate.set()
    self.running.service.ask(['last'])[0].result(30)
    self.assertEqual(self.answerer.batches, [['slow'], ['last']])

  def test_a_question_that_fails_fails_alone(self):
    client = self._run()
    self.assertEqual(client.predict({'instances': ['break']}).status, 500)
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
    for path in ('/api/about', '/metrics'):
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
    self.running.server.end()
    threading.Timer(0.2, self.answerer.gate.set).start()
    self.running.thread.join(30)
    self.assertFalse(self.running.thread.is_alive())
    self.assertEqual([first().status, second().status], [200, 200])
    with self.assertRaises(ConnectionRefusedError):
      client.get('/healthz')

  def test_servers_have_metrics_of_their_own(self):
    metrics = service_lib.Metrics()
    service_lib.Metrics().swaps.labels('refused').inc(9)
    metrics.swaps.labels('refused').inc()
    text = metrics.text().decode()
    self.assertIn('realm_swaps_total{result="refused"} 1.0\n', text)
    self.assertRegex(text, r'process_resident_memory_bytes \d')


if __name__ == '__main__':
  absltest.main()
