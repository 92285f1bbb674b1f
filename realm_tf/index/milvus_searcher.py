"""Search on a Milvus server or cluster; pymilvus is an extra.

Each index version is a collection. An alias moves to the newest complete
version, for other users of the server. `index.uri` names the server, or a file
of milvus-lite, which runs in this process. MILVUS_TOKEN holds the password.
"""

from collections.abc import Iterator
import contextlib
import functools
import hashlib
import json
import os
import uuid

from absl import logging
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.index import searcher

try:
  import pymilvus
except ImportError as error:
  raise errors.UserError(
    "pymilvus must be installed for `searcher='milvus'`. Found no module named "
    "pymilvus. Run: pip install 'realm_tf[milvus]'"
  ) from error

_FILE = 'milvus.json'
_SAVED = dict.fromkeys(['uri', 'collection'], str)
_ID, _EMBEDDING = 'id', 'embedding'
_INSERT_BYTES = 16 << 20  # A server takes at most 64 MiB at once.
_MAX_QUERIES = 4096  # A server takes at most 16384 at once.
_MAX_LEAVES = 65536


class MilvusSearcher(searcher.ApproximateSearcher):
  """Searches one complete, loaded collection by inner product.

  `num_leaves` is Milvus' nlist; an effort is its nprobe and reorder_k.
  """

  def __init__(self, saved: dict[str, str], num_leaves: int):
    self._saved = saved  # Of `_SAVED`.
    self.num_leaves = num_leaves
    self._client = _connect(saved['uri'])

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'MilvusSearcher':
    """Fills a new collection with float32 [N, D]; drops it after an error."""
    leaves, _ = searcher.untuned(config, len(embeddings))
    leaves = min(leaves, _MAX_LEAVES)
    collection = f'realm_{uuid.uuid4().hex[:12]}'
    client = _connect(config.uri)
    with _refusals(config.uri):
      try:
        _fill(client, collection, embeddings)
        _index(client, collection, leaves)
        client.load_collection(collection)
      except pymilvus.MilvusException:
        _drop(client, collection)
        raise
    saved = {'uri': config.uri, 'collection': collection}
    return cls(saved, leaves)

  @classmethod
  def load(cls, directory: str, num_leaves: int) -> 'MilvusSearcher':
    """Opens the collection whose name `save` wrote."""
    saved, client = _open(directory)
    with _refusals(saved['uri']):
      client.load_collection(saved['collection'])
    return cls(saved, num_leaves)

  def save(self, directory: str) -> None:
    """Writes the name of the collection; the vectors stay on the server."""
    with open(os.path.join(directory, _FILE), 'w', encoding='utf-8') as file:
      json.dump(self._saved, file)

  def search(
    self, queries: np.ndarray, k: int, effort: searcher.Effort
  ) -> interfaces.Neighbors:
    ids, scores = searcher.nothing(len(queries), k)
    params = {
      'nprobe': min(effort.leaves_to_search, self.num_leaves),
      'reorder_k': max(k, effort.num_to_rescore),
    }
    for start in range(0, len(queries), _MAX_QUERIES):
      with _refusals(self._saved['uri']):
        found = self._client.search(
          self._saved['collection'],
          data=list(np.asarray(queries[start : start + _MAX_QUERIES], 'f')),
          limit=k,
          output_fields=[_ID],
          search_params={'metric_type': 'IP', 'params': params},
          # The collection never changes, so no search has to wait for writes.
          # With 'Strong', single queries take 30 times as long.
          consistency_level='Eventually',
        )
      for row, hits in enumerate(found, start):
        ids[row, : len(hits)] = [hit[_ID] for hit in hits]
        scores[row, : len(hits)] = [hit['distance'] for hit in hits]
    return interfaces.Neighbors(ids, scores)

  @staticmethod
  def publish(directory: str, name: str) -> None:
    """Moves the alias of `name` to a saved collection."""
    saved, client = _open(directory)
    alias, collection = alias_of(name), saved['collection']
    with _refusals(saved['uri']):
      collections = client.list_collections()
      if any(alias in _aliases(client, other) for other in collections):
        client.alter_alias(collection, alias)
      else:
        client.create_alias(collection, alias)
    logging.info('Milvus: %s is now %s.', alias, collection)

  @staticmethod
  def drop(directory: str) -> None:
    """Removes a saved collection, with its aliases."""
    saved, client = _open(directory)
    with _refusals(saved['uri']):
      _drop(client, saved['collection'])


def alias_of(name: str) -> str:
  """Returns the alias of the newest version of the index `name`."""
  digest = hashlib.sha256(os.path.abspath(name).encode('utf-8')).hexdigest()
  return f'realm_{digest[:12]}'


def _open(directory: str) -> tuple[dict[str, str], pymilvus.MilvusClient]:
  """Returns the fields that `save` wrote, and a client of the server."""
  path = os.path.join(directory, _FILE)
  advice = 'Build the index again with bin.build_index.'
  saved = json_text.check(json_text.read_object(path), _SAVED, path, advice)
  return saved, _connect(saved['uri'])


@functools.lru_cache
def _connect(uri: str) -> pymilvus.MilvusClient:
  if not uri:
    raise errors.UserError(
      "`index.uri` must name a Milvus server for `searcher='milvus'`. Found "
      'none. Set it, e.g. --set=index.uri=http://localhost:19530, or a file '
      'NAME.db for milvus-lite.'
    )
  with _refusals(uri, Exception):  # From gRPC, or from a damaged file.
    return pymilvus.MilvusClient(uri, token=os.environ.get('MILVUS_TOKEN', ''))


def _fill(
  client: pymilvus.MilvusClient, collection: str, embeddings: np.ndarray
) -> None:
  schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
  schema.add_field(_ID, pymilvus.DataType.INT64, is_primary=True)
  num_blocks, width = embeddings.shape
  schema.add_field(_EMBEDDING, pymilvus.DataType.FLOAT_VECTOR, dim=width)
  client.create_collection(collection, schema=schema)
  size = max(1, _INSERT_BYTES // (4 * width))
  for start in range(0, num_blocks, size):
    rows = np.asarray(embeddings[start : start + size], np.float32)
    client.insert(
      collection,
      [{_ID: start + i, _EMBEDDING: row} for i, row in enumerate(rows)],
    )
  client.flush(collection)


def _index(client: pymilvus.MilvusClient, collection: str, leaves: int) -> None:
  """Makes the best index that the server supports."""
  # milvus-lite lacks SCANN; it compares exact vectors.
  is_lite = client.get_server_version().startswith('milvus_lite')
  settings = {'nlist': leaves, **({} if is_lite else {'with_raw_data': True})}
  params = client.prepare_index_params()
  params.add_index(
    _EMBEDDING,
    index_type='IVF_FLAT' if is_lite else 'SCANN',
    metric_type='IP',
    # milvus-lite reads parameters only as JSON text.
    params={'params': json.dumps(settings)},
  )
  client.create_index(collection, params)


def _drop(client: pymilvus.MilvusClient, collection: str) -> None:
  if client.has_collection(collection):
    for alias in _aliases(client, collection):
      client.drop_alias(alias)
    client.drop_collection(collection)


def _aliases(client: pymilvus.MilvusClient, collection: str) -> list[str]:
  return client.list_aliases(collection).get('aliases', [])


@contextlib.contextmanager
def _refusals(
  uri: str, kind: type[Exception] = pymilvus.MilvusException
) -> Iterator[None]:
  """Turns an error of the server into a UserError."""
  try:
    yield
  except kind as error:
    reason = str(error).splitlines()[0][:200]
    raise errors.UserError(
      f'`index.uri` must be a Milvus server that works. Found {uri}: {reason} '
      'Start it, or name another one.'
    ) from error
