"""Names that flags accept; no TensorFlow, so that flags are checked at once."""

import re

# The reply to a question whose best answer is improbable.
REFUSED = 'The corpus does not seem to say.'

# Retrievers (`retrieval/retrievers.py`).
MODEL, NOTHING = 'model', 'none'
GRAPH, PATH = BY_LINKS = 'graph', 'path'  # Both need a model's embeddings.
BM25 = 'bm25'
BY_WORDS = BM25, 'tfidf', 'bm25_graph'

# Links of a corpus: the source's, or titles in texts.
MARKUP, TITLES = LINKS = 'markup', 'titles'

# Model Garden's strategies of tf.distribute.
STRATEGIES = 'off', 'one_device', 'mirrored', 'multi_worker_mirrored', 'tpu'

# Exported encoders, and searchers of a SavedModel.
TOWERS = 'query', 'block', 'reader'
SAVED_SEARCHERS = 'exact', 'scann'

# A model on the Hugging Face hub, as OWNER/MODEL or MODEL.
HUB_MODEL = re.compile(r'[\w-][\w.-]*(/[\w.-]+)?')

# Metrics of held-out queries; higher is better.
HELD_OUT_RANKS = 1, 5, 20
HELD_OUT_METRICS = (
  'held_out_log_likelihood',
  'held_out_utility',
  *(f'held_out_recall@{rank}' for rank in HELD_OUT_RANKS),
)
