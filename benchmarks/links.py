"""Links of a corpus: CPU seconds and memory for made-up links between articles.

  python -m benchmarks.links [--links=10000000]

Every tenth link goes over a redirect. Rows: `join`, from hashes of titles to
rows; `graph`, from pairs of rows to the graph; `back`, the graph transposed;
`expand`, the links of 1,000 articles in both directions. `ours` is links a CPU
second, `peak_mb` the largest memory of the process until then, of which the
made-up links take `input_mb`.
"""

import resource
import time

from absl import app
from absl import flags
import numpy as np

from benchmarks import printing
from realm_tf.records import link_graph
from realm_tf.records import named_links

_LINKS = flags.DEFINE_integer('links', 10_000_000, 'Number of links.', 100)
_LINKS_PER_ARTICLE = 20


def _make(num_links):
  """Returns the arguments of `named_links.join`."""
  rng = np.random.default_rng(0)
  num_articles = num_links // _LINKS_PER_ARTICLE
  keys, titles, others = rng.integers(
    0, 1 << 63, [3, num_articles], dtype=np.uint64
  )
  # Few articles have most links, as in Wikipedia.
  goals = (num_articles * rng.random(num_links) ** 3).astype(np.int64)
  origins = np.sort(keys)[np.arange(num_links) // _LINKS_PER_ARTICLE]
  names = np.where(np.arange(num_links) % 10, titles[goals], others[goals])
  redirects = np.stack([others, titles], axis=1)
  redirects = redirects[np.argsort(others)]
  return keys, titles, np.stack([origins, names], axis=1), redirects


def main(_):
  arguments = _make(_LINKS.value)
  input_mb = sum(each.nbytes for each in arguments) >> 20
  num_articles = len(arguments[0])
  rows = []

  def timed(name, function, *given):
    begun = time.process_time()
    result = function(*given)
    secs = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    rows.append(
      {
        'case': name,
        'ours': _LINKS.value / secs,
        'secs': secs,
        'peak_mb': peak,
        'input_mb': input_mb,
      }
    )
    return result

  edges = timed('join', named_links.join, *arguments)
  graph = timed('graph', link_graph.LinkGraph.from_edges, *edges, num_articles)
  back = timed('back', graph.transposed)
  some = np.random.default_rng(1).integers(0, num_articles, 1000)
  timed('expand', lambda: [each.linked(some) for each in (graph, back)])
  printing.print_rows('links', 'links a CPU second', rows)


if __name__ == '__main__':
  app.run(main)
