"""A test case with Milvus: milvus-lite, or the server of REALM_MILVUS_URI.

Without pymilvus its tests are skipped.
"""

import os

from absl.testing import absltest

from realm_tf import errors

try:
  import pymilvus

  from realm_tf.index import milvus_searcher
except (ImportError, errors.UserError):
  pymilvus = milvus_searcher = None


@absltest.skipIf(pymilvus is None, 'pymilvus is not installed.')
class MilvusCase(absltest.TestCase):
  """Has the server's `uri` and a `client`; leaves no collection there."""

  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.uri = os.environ.get('REALM_MILVUS_URI') or self.start(
      os.path.join(self.directory, 'milvus.db')
    )
    self.client = pymilvus.MilvusClient(
      self.uri, token=os.environ.get('MILVUS_TOKEN', '')
    )
    self.addCleanup(self._clear)

  def start(self, path: str) -> str:
    """Returns the URI of milvus-lite with the data in a file."""
    return path

  def alias(self, root: str) -> str:
    """Returns the collection that other clients search for an index root."""
    alias = milvus_searcher.alias_of(root)
    return self.client.describe_alias(alias)['collection_name']

  def _clear(self):
    for collection in self.client.list_collections():
      for alias in self.client.list_aliases(collection).get('aliases', []):
        self.client.drop_alias(alias)
      self.client.drop_collection(collection)
