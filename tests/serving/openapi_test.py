"""Tests realm_tf/serving/static/openapi.json against routes and replies."""

import os

from absl.testing import absltest
import jsonschema

from realm_tf.qa import masked_sentences
from realm_tf.serving import handlers
from realm_tf.serving import http_server
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests.serving import running_server
from tests.serving import small_models

_BODIES = {
  'about': {},
  'ask': {'question': 'a b ?'},
  'compare': {'question': 'a b ?'},
  'complete': {'sentence': 'a [MASK]'},
  'search': {'text': 'oran'},
  'article': {'block_id': 0},
  'edit': {'block_id': 0, 'text': 'F f.'},
  'documents': {'add': [], 'remove': ['first']},
}


class OpenapiTest(absltest.TestCase):
  def test_describes_all_routes_their_bodies_and_their_replies(self):
    directory = self.create_tempdir().full_path
    model_dir, corpus_dir = small_models.write_with_words(directory)
    lm = os.path.join(directory, 'lm')
    small_models.write(lm, corpus_dir, small_models.PRETRAINED)
    service = service_lib.Service(
      served_model.live(model_dir, corpus_dir, allow_edits=True, is_live=True),
      log=small_models.open_log(os.path.join(directory, 'log'), corpus_dir),
      completer=masked_sentences.load(lm, corpus_dir),
    )
    client = self.enter_context(running_server.run(service)).client
    found = client.get('/openapi.json').json

    def check(part, value):  # All keys are required, and others forbidden.
      schema = part['content']['application/json']['schema']
      jsonschema.validate(value, {**schema, 'components': found['components']})

    explorer = service.model.explorer
    expected = {'search': explorer.find('oran'), 'article': explorer.article(0)}
    app = http_server.make_app(service, handlers.Settings())
    routes = {r.path: [*r.methods - {'HEAD'}] for r in app.routes}
    for name, body in _BODIES.items():
      path = f'/api/{name}'
      ((method, operation),) = found['paths'][path].items()
      self.assertEqual(routes.pop(path), [method.upper()])
      asked = operation.get('requestBody')
      self.assertEqual(bool(asked), bool(body))
      for key in body:
        less = {other: body[other] for other in body if other != key}
        with self.assertRaises(jsonschema.ValidationError):
          check(asked, less)
        refused = client.post(path, less)
        self.assertEqual(refused.status, 400)
        check(found['components']['responses']['Error'], refused.json)
      reply = client.post(path, body) if body else client.get(path)
      self.assertEqual(reply.status, 200, reply.text)
      check(operation['responses']['200'], reply.json)
      self.assertEqual(expected.get(name, reply.json), reply.json)
    self.assertFalse([path for path in routes if path.startswith('/api')])
    self.assertLen(found['paths'], len(_BODIES))


if __name__ == '__main__':
  absltest.main()
