"""Tags named entities with a BERT of bin.train_tagger (Section 3.4)."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import conll
from realm_tf.corpus import salient_spans
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.modeling import token_tagger
from realm_tf.records import joining
from realm_tf.records import sampling
from realm_tf.rundir import layout
from realm_tf.tagging import token_labels
from realm_tf.text import wordpiece

_BATCH_SIZE = 256  # Sentences.
_LENGTH_STEP = 16  # Tokens; few shapes mean few traces.


class BertTagger:
  """Finds entities and, as a `salient_spans.Tagger`, dates.

  Words beyond `max_tokens`, the maximum sequence length, are in no entity.
  """

  def __init__(
    self,
    model: token_tagger.TokenTagger,
    tokenizer: wordpiece.WordpieceTokenizer,
    names: Sequence[str],
    max_tokens: int,
    batch_size: int,
  ):
    self._tokenizer = tokenizer
    self._names = names
    self._max_tokens = max_tokens
    self._batch_size = batch_size
    special_ids = tokenizer.special_ids

    @tf.function
    def label(ids):
      tokens = joining.pack_longest(ids, None, *special_ids)
      logits = model(tokens)[:, 1:-1]  # [CLS] comes first, [SEP] at the end.
      return tf.argmax(logits, axis=-1, output_type=tf.int32)

    self._label = label

  def entities(self, texts: Sequence[str]) -> list[list[conll.Entity]]:
    """Returns each text's entities, in characters."""
    tokens = self._tokenizer.tokenize_batch(texts)
    # Texts of similar length need little padding.
    order = np.argsort([-len(t.ids) for t in tokens], kind='stable')
    found = [[] for _ in texts]
    for start in range(0, len(order), self._batch_size):
      rows = order[start : start + self._batch_size]
      labels = self._labels([tokens[row].ids for row in rows])
      for row, ids in zip(rows, labels, strict=True):
        found[row] = self._decode(tokens[row], ids)
    return found

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns each text's spans; a date replaces entities that it overlaps."""
    return [
      salient_spans.with_dates(text, [(e.start, e.end) for e in entities])
      for text, entities in zip(texts, self.entities(texts), strict=True)
    ]

  def _labels(self, rows: Sequence[np.ndarray]) -> np.ndarray:
    ids = sampling.trim(
      sampling.pad_rows(rows, self._max_tokens - 2), _LENGTH_STEP
    )
    # A constant batch size limits traces to one per length.
    ids = np.pad(ids, [(0, self._batch_size - len(rows)), (0, 0)])
    return self._label(tf.constant(ids)).numpy()[: len(rows)]

  def _decode(self, tokens, label_ids):
    # Pieces beyond `max_tokens` have no labels.
    tokens = wordpiece.Tokens(*(part[: len(label_ids)] for part in tokens))
    is_start = self._tokenizer.word_starts(tokens)
    labels = [self._names[i] for i in label_ids[: len(is_start)][is_start]]
    return token_labels.decode(tokens, is_start, labels)


def load(tagger_dir: str) -> BertTagger:
  """Opens a directory of bin.train_tagger; UserError if it is unusable."""
  if not tf.io.gfile.exists(layout.labels_file(tagger_dir)):
    raise errors.UserError(
      '--tagger=bert:DIR must be a directory of bin.train_tagger. Found no '
      f'{layout.labels_file(tagger_dir)}. Train one, or use --tagger=rules.'
    )
  opened = model_files.open_model(tagger_dir)
  labels = input_files.read(layout.labels_file(tagger_dir))
  names = labels.decode('utf-8', 'replace').split()
  bert = opened.config.model.reader_bert
  arrays = opened.read_params()
  opened.check_sizes()
  model = token_tagger.TokenTagger(bert, len(names))
  realm_model.require_parts(model.load(arrays), opened.params.path)
  return BertTagger(
    model, opened.tokenizer, names, bert.max_positions, _BATCH_SIZE
  )
