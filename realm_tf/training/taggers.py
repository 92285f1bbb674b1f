"""Taggers of salient spans by --tagger, and the BERT among them (Section 3.4).

The BERT of bin.train_tagger labels the wordpieces that begin a word, with the
IOB2 labels of CoNLL-2003.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import itertools
import os

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import input_files
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.corpus import conll
from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms as terms_lib
from realm_tf.data import block_table
from realm_tf.data import joining
from realm_tf.data import sampling
from realm_tf.index import model_files
from realm_tf.model import bert as bert_lib
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.text import wordpiece
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import step_trainer

NO_LABEL = -1
_TOWERS = ('reader', 'query', 'shared')  # BERTs to start from, best first.
_BATCH_SIZE = 256  # Sentences.
_WIDTH = 16  # Batches are trimmed to multiples: few shapes mean few traces.
_TERMS = '+terms'
# Counts of more text find the same terms, and take memory: 40 bytes each.
_MOST_WORDPIECES = 25_000_000


def make(
  spec: str,
  num_workers: int = 1,
  find_terms: Callable[[], terms_lib.Terms] = lambda: terms_lib.find([]),
) -> interfaces.Tagger:
  """Returns the tagger of e.g. 'rules', 'bert:DIR', 'terms' or 'rules+terms'.

  Args:
    find_terms: Returns the terms for 'terms'.
  """
  kind, _, name = spec.partition(':')
  if spec == 'terms':
    return terms_lib.TermsTagger(find_terms())
  if spec.endswith(_TERMS):
    first = make(spec.removesuffix(_TERMS), num_workers, find_terms)
    return terms_lib.TermsTagger(find_terms(), first)
  if spec == 'rules':
    return salient_spans.RulesTagger()
  if kind == 'spacy' and name:
    return salient_spans.SpacyTagger(name, num_workers)
  if kind == 'bert' and name:
    return load(name)
  raise errors.UserError(
    "--tagger must be 'rules', 'spacy:NAME' or 'bert:DIR', each also with "
    f"'+terms', or 'terms'. Found {spec!r}."
  )


def terms_of(table: block_table.BlockTable) -> terms_lib.Terms:
  """Returns a corpus's terms; a large one's from evenly spread articles."""
  _, lengths = table.lengths()
  step = 1 + int(lengths.sum(dtype=np.int64)) // _MOST_WORDPIECES
  ends = [0, *np.cumsum(np.bincount(table.article_rows))]
  return terms_lib.find(
    table.texts(range(ends[row], ends[row + 1]))
    for row in range(0, len(ends) - 1, step)
  )


def label_names(sentences: Sequence[conll.LabeledSentence]) -> list[str]:
  """Returns the IOB2 labels of all entity types, 'O' first."""
  kinds = sorted({e.type for s in sentences for e in s.entities})
  return [conll.OUTSIDE, *(f'{i}-{kind}' for kind in kinds for i in 'BI')]


def encode(
  sentence: conll.LabeledSentence,
  tokens: wordpiece.Tokens,
  tokenizer: wordpiece.WordpieceTokenizer,
  names: Sequence[str],
) -> np.ndarray:
  """Returns the label id of each of the L wordpieces of a text, int [L].

  Pieces that do not begin a word have NO_LABEL. `names` are `label_names`.
  """
  numbers = {name: i for i, name in enumerate(names)}
  pieces = (
    conll.Entity._make((*np.searchsorted(tokens.starts, e[:2]), e.type))
    for e in sentence.in_characters()
  )
  labels = conll.encode(len(tokens.ids), (p for p in pieces if p.start < p.end))
  ids = np.array([numbers[label] for label in labels], np.int32)
  return np.where(tokenizer.word_starts(tokens), ids, NO_LABEL)


def decode(
  tokens: wordpiece.Tokens, is_start: np.ndarray, labels: Sequence[str]
) -> list[conll.Entity]:
  """Returns the entities in characters.

  Args:
    is_start: Whether each of the L pieces begins a word, bool [L].
    labels: One label a word.
  """
  first = np.flatnonzero(is_start)
  stops = np.append(first[1:], len(tokens.ids))
  return [
    conll.Entity(
      int(tokens.starts[first[start]]),
      int(tokens.ends[stops[end - 1] - 1]),
      kind,
    )
    for start, end, kind in conll.decode(labels)
  ]


class TokenTagger(tf.Module):
  """Scores C labels for each wordpiece (Devlin et al. 2019, Section 5.3)."""

  def __init__(self, config: config_lib.BertConfig, num_labels: int):
    super().__init__(name='tagger')
    self.encoder = bert_lib.build_encoder(config, 'tagger_bert')
    self.head = tf_keras.layers.Dense(
      num_labels,
      name='tagger_head',
      dtype='float32',
      kernel_initializer=tf_keras.initializers.TruncatedNormal(
        stddev=config.initializer_range
      ),
    )
    self.head(tf.zeros([1, config.hidden_size]))  # Creates the weights.

  def __call__(
    self, tokens: dict[str, tf.Tensor], training: bool = False
  ) -> tf.Tensor:
    """Maps the encoder's input dict to logits, float32 [B, L, C]."""
    states = self.encoder(tokens, training=training)['sequence_output']
    return self.head(tf.cast(states, tf.float32))

  def load(self, arrays: dict[str, np.ndarray]) -> weights.LoadReport:
    """Assigns a tagger's weights, or the BERT of a model without tagger."""
    if not any(name.startswith('tagger_') for name in arrays):
      found = {name.partition('_bert/')[0] for name in arrays}
      tower = next((each for each in _TOWERS if each in found), 'no')
      arrays = {
        name.replace(f'{tower}_bert/', 'tagger_bert/', 1): value
        for name, value in arrays.items()
        if name.startswith(f'{tower}_bert/')
      }
    return weights.assign(self.variables, arrays)


class BertTagger:
  """Finds entities and, as an `interfaces.Tagger`, dates.

  Words beyond `max_tokens`, the maximum sequence length, are in no entity.
  """

  def __init__(
    self,
    model: TokenTagger,
    tokenizer: wordpiece.WordpieceTokenizer,
    names: Sequence[str],
    max_tokens: int,
    batch_size: int,
  ):
    self._tokenizer, self._names = tokenizer, names
    self._max_tokens, self._batch_size = max_tokens, batch_size
    special_ids = tokenizer.special_ids

    @tf.function(autograph=False)
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
      ids = sampling.trim(
        sampling.pad_rows(
          [tokens[row].ids for row in rows], self._max_tokens - 2
        ),
        _WIDTH,
      )
      # A constant batch size limits traces to one per length.
      ids = np.pad(ids, [(0, self._batch_size - len(rows)), (0, 0)])
      label_ids = self._label(tf.constant(ids)).numpy()
      for row, own in zip(rows, label_ids[: len(rows)], strict=True):
        # Pieces beyond `max_tokens` have no labels.
        kept = wordpiece.Tokens(*(part[: len(own)] for part in tokens[row]))
        is_start = self._tokenizer.word_starts(kept)
        labels = [self._names[i] for i in own[: len(is_start)][is_start]]
        found[row] = decode(kept, is_start, labels)
    return found

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns each text's spans; a date replaces entities that it overlaps."""
    return [
      salient_spans.with_dates(text, [(e.start, e.end) for e in entities])
      for text, entities in zip(texts, self.entities(texts), strict=True)
    ]


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
  model = TokenTagger(bert, len(names))
  realm_model.require_parts(model.load(arrays), opened.params.path)
  return BertTagger(
    model, opened.tokenizer, names, bert.max_positions, _BATCH_SIZE
  )


def run(
  config: config_lib.ExperimentConfig,
  sentences: Sequence[conll.LabeledSentence],
  job: job_lib.Job,
  *,
  vocab_file: str = '',
) -> None:
  """Trains a tagger and writes its directory.

  A BERT as `job.init_from` gives weights, sizes and vocabulary. Without it,
  `config.model.reader_bert` gives the sizes and `vocab_file` the vocabulary.
  """
  arrays: dict[str, np.ndarray] = {}
  model_config = config.model
  if init_from := job.init_from.model_dir:
    opened = model_files.open_model(init_from)
    arrays, model_config = opened.read_params(), opened.config.model
    vocab_file = layout.vocab_file(init_from)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(vocab_file)
  bert = dataclasses.replace(
    model_config.reader_bert, vocab_size=tokenizer.vocab_size
  )
  config = dataclasses.replace(
    config, model=dataclasses.replace(model_config, reader_bert=bert)
  )
  job.share(config.tagger.batch_size)  # Checked before the run begins.
  tf_keras.utils.set_random_seed(config.seed)
  names = label_names(sentences)
  job.begin(config, vocab_file, {'sentences': sentences})
  if job.is_chief:
    with tf.io.gfile.GFile(layout.labels_file(job.run_dir), 'w') as file:
      file.write('\n'.join(names) + '\n')
  with job.strategy.scope():
    model = TokenTagger(bert, len(names))
    model.load(arrays)
  run_loop = loop.Loop(
    job,
    config.tagger,
    config.seed,
    lambda optimizer: TaggerTrainer(optimizer, model, tokenizer.special_ids),
  )
  dealt = batches(
    sentences, tokenizer, names, experiment=config, share=run_loop.share
  )
  run_loop.run(loop.prefetch(dealt))


def evaluate(
  tagger_dir: str, dev: Sequence[conll.LabeledSentence]
) -> conll.Scores:
  """Scores a tagger's entities like conlleval; writes metrics.json."""
  predicted = load(tagger_dir).entities([s.text for s in dev])
  gold = [sentence.in_characters() for sentence in dev]
  scores = conll.score(gold, predicted)
  json_text.write(
    os.path.join(tagger_dir, 'metrics.json'),
    {'num_sentences': len(dev), **scores._asdict()},
  )
  return scores


def batches(
  sentences: Sequence[conll.LabeledSentence],
  tokenizer: wordpiece.WordpieceTokenizer,
  names: Sequence[str],
  *,
  experiment: config_lib.ExperimentConfig,
  share: sampling.Share = sampling.WHOLE,
) -> Iterator[dict[str, np.ndarray]]:
  """Yields endless batches, functions of seed and step.

  They have wordpieces, 'ids', and 'label_ids', int32 [B, L] each; NO_LABEL has
  no loss. `names` are the labels'.
  """
  config = experiment.tagger
  tokens = tokenizer.tokenize_batch([s.text for s in sentences])
  labels = [
    encode(sentence, own, tokenizer, names)
    for sentence, own in zip(sentences, tokens, strict=True)
  ]
  sampler = sampling.Sampler(len(sentences), config.batch_size, experiment.seed)
  length = config.max_tokens - 2
  for step in itertools.count(share.first_step):
    rows = sampler.rows(step)
    ids = share.trim(
      sampling.pad_rows([tokens[row].ids for row in rows], length), _WIDTH
    )
    label_ids = sampling.pad_rows(
      [labels[row] for row in rows], ids.shape[1], NO_LABEL
    )
    yield share.take({'ids': ids, 'label_ids': label_ids})


class TaggerTrainer(step_trainer.StepTrainer):
  """Minimizes the mean cross entropy of the labels."""

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: TokenTagger,
    special_ids: tuple[int, int],
  ):
    super().__init__(optimizer, model)
    self._special_ids = special_ids

  def loss_and_logs(
    self, batch: dict[str, tf.Tensor]
  ) -> step_trainer.LossAndLogs:
    tokens = joining.pack_longest(batch['ids'], None, *self._special_ids)
    logits = self.model(tokens, training=True)[:, 1:-1]
    labels = batch['label_ids']
    counts = tf.cast(labels != NO_LABEL, tf.float32)  # [B, L]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
      tf.maximum(labels, 0), logits
    )
    right = tf.cast(
      tf.argmax(logits, axis=-1, output_type=tf.int32) == labels, tf.float32
    )
    accuracy = strategies.weighted_mean(right * counts, counts)
    loss = strategies.weighted_mean(losses * counts, counts)
    return loss, {'accuracy': 100.0 * accuracy}
