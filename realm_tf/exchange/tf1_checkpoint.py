"""Reads the authors' TF1 checkpoints as our config and variables.

The release stores a model in several checkpoints (Section 7 of their notes):
the reader's BERT, the embedder as a TF Hub module, the index as one variable,
and a QA model with the embedder of queries only.

The ends of names identify weights. Their prefixes differ between files:
"module/" repeats for each wrapped module, "reader/" marks a QA model. An
embedder's head is one module above its BERT; a BERT without such a head belongs
to a reader.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
import os
import re
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.model import bert as bert_lib
from realm_tf.model import weights

_HEAD_SIZE = 64  # BERT's head size at every hidden size.
_WORDS = 'embeddings.word_embeddings.weight'
_POSITIONS = 'embeddings.position_embeddings.weight'
_INNER = 'encoder.layer.0.intermediate.dense.bias'
_BESIDE = 'vocab.txt', 'blocks.tfr'
EMBEDDER, READER, INDEX = 'embedder', 'reader', 'index'
_SKIPPED = re.compile(
  r'(^|/)(adam_m|adam_v|global_step|AdamWeightDecayOptimizer[^/]*)(/|$)'
)
_WRAPPED = r'(?P<where>(?:reader/|module(?:_\d+)?/)*)'
_BERT = re.compile(
  _WRAPPED + r'bert/(?P<rest>(?:embeddings|encoder|pooler)/.+)'
)
_MASKED_LM = re.compile(_WRAPPED + r'(?P<rest>cls/predictions/.+)')
_HEAD = re.compile(
  _WRAPPED
  + r'(?P<layer>dense|dense_1|LayerNorm|layer_normalization)/'
  + r'(?P<rest>kernel|bias|gamma|beta)'
)
_HEADS = {
  EMBEDDER: {
    'dense': 'cls.dense',
    'LayerNorm': 'cls.LayerNorm',
    'layer_normalization': 'cls.LayerNorm',
  },
  READER: {
    'dense': 'qa_outputs.dense_intermediate',
    'dense_1': 'qa_outputs.dense_output',
    'layer_normalization': 'qa_outputs.layer_normalization',
  },
}
# What TF1 writes -> what Hugging Face does, with '/' for '.'.
_SPELLINGS = (
  (r'layer_(\d+)', r'layer/\1'),
  (r'_embeddings$', '_embeddings/weight'),
  (r'/output_bias$', '/bias'),
  (r'/(?:kernel|gamma)$', '/weight'),
  (r'/beta$', '/bias'),
)
_STEP = re.compile(r'(.*)-(\d+)')


class Checkpoint(NamedTuple):
  """A checkpoint, by kind: EMBEDDER, READER, or INDEX with the one 'block_emb'.

  Attributes:
    names: Kind -> {Hugging Face's name: name in the file}.
    arrays: The same with values; kernels are [out, in].
    left_over: All other names.
  """

  prefix: str
  names: dict[str, dict[str, str]]
  arrays: dict[str, dict[str, np.ndarray]]
  left_over: list[str]


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads the parts of a model from comma-separated prefixes or directories.

  Missing, damaged and duplicate parts raise UserError.
  """
  prefixes, others = find(source)
  checkpoints = [*map(_open, prefixes)]
  kinds = {kind for each in checkpoints for kind in each.names} - {INDEX}
  if not kinds:
    raise errors.UserError(
      f'tf1:{source} must hold a BERT encoder. Found none. Give the prefixes '
      "of the embedder's and the reader's checkpoints, with commas."
    )
  # No released BERT has a span head.
  is_plain = EMBEDDER not in kinds and not any(
    name.startswith('qa_outputs.')
    for each in checkpoints
    for name in each.names.get(READER, ())
  )
  given = given._replace(
    blocks_file=given.blocks_file or _only(others, 'blocks.tfr'),
    vocab_file=given.vocab_file or _only(others, 'vocab.txt'),
  )
  return imported.join(
    [_part(each, is_plain, given.num_heads) for each in checkpoints], given
  )


def _open(prefix: str) -> Checkpoint:
  """Reads a checkpoint; TensorFlow compares checksums."""
  try:
    reader = tf.train.load_checkpoint(prefix)
    names, left_over = recognize(reader.get_variable_to_shape_map(), prefix)
    arrays = {
      kind: {theirs: _value(reader, name) for theirs, name in part.items()}
      for kind, part in names.items()
    }
  except (tf.errors.OpError, LookupError, RuntimeError, ValueError) as error:
    raise errors.UserError(
      f'tf1:{prefix} must be a whole checkpoint. Found: {error}. Copy all of '
      'its files again.'
    ) from error
  return Checkpoint(prefix, names, arrays, left_over)


def _value(reader: Any, name: str) -> np.ndarray:
  value = reader.get_tensor(name)
  return value.T if name.endswith('/kernel') else value


def _part(
  source: Checkpoint, is_plain: bool, num_heads: int | None
) -> imported.Imported:
  """Returns a part of the model; everything starts from a plain BERT."""
  towers = {
    EMBEDDER: ('shared',),
    READER: ('shared', 'reader') if is_plain else ('reader',),
  }
  arrays: dict[str, np.ndarray] = {}
  berts: dict[str, config_lib.BertConfig] = {}
  used, missing, left_over = [], [], [*source.left_over]
  rows: np.ndarray | None = None
  for kind, theirs in source.arrays.items():
    names = source.names[kind]
    if kind == INDEX:
      ((name, rows),) = theirs.items()
      used.append(names[name])
      continue
    berts[kind] = _bert_config(theirs, names, source.prefix, num_heads)
    ours, report = hugging_face_names.convert(
      theirs, berts[kind], {'': towers[kind]}
    )
    hugging_face_names.check_whole(report, source.prefix)
    arrays |= ours
    used += [names[name] for name in report.used]
    missing += report.missing
    left_over += [names[name] for name in report.left_over]
  return imported.Imported(
    _model_config(source.arrays, berts),
    arrays,
    weights.LoadReport(used, missing, left_over),
    embeddings=rows,
    notes=('A plain BERT: both embedders and the reader start from it.',)
    if is_plain
    else (),
    path=source.prefix,
    is_tuned=len(berts) == 2,
  )


def _bert_config(
  arrays: Mapping[str, np.ndarray],
  names: Mapping[str, str],
  prefix: str,
  num_heads: int | None,
) -> config_lib.BertConfig:
  """Returns the sizes of an encoder, from the shapes of its weights."""
  lacking = [n for n in (_WORDS, _POSITIONS, _INNER) if n not in arrays]
  if lacking:
    raise errors.UserError(
      'A BERT must be whole, in one checkpoint with its heads. Found '
      f'{min(names.values())} but no {lacking[0]} in {prefix}. Check --source.'
    )
  vocab_size, width = arrays[_WORDS].shape
  if width % (num_heads or _HEAD_SIZE):
    raise errors.UserError(
      f'--num_heads must divide the width {width} of {prefix}. Found '
      f'{num_heads or f"none, and heads of {_HEAD_SIZE} do not fit"}. Give '
      '--num_heads.'
    )
  return config_lib.BertConfig(
    vocab_size=vocab_size,
    hidden_size=width,
    num_layers=hugging_face_names.num_layers(arrays),
    num_heads=num_heads or width // _HEAD_SIZE,
    intermediate_size=len(arrays[_INNER]),
    max_positions=len(arrays[_POSITIONS]),
  )


def _model_config(
  arrays: Mapping[str, Mapping[str, np.ndarray]],
  berts: Mapping[str, config_lib.BertConfig],
) -> config_lib.ModelConfig:
  """Returns the config of a checkpoint's parts; of its BERT for both."""
  bert = berts.get(EMBEDDER, berts.get(READER, config_lib.BertConfig()))
  embedder = config_lib.EmbedderConfig(shared_towers=True)
  head = arrays.get(EMBEDDER, {}).get('cls.dense.bias')
  if head is not None:
    embedder = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=len(head),
      shared_towers=True,
      layer_norm_epsilon=bert_lib.LAYER_NORM_EPSILON,
    )
  span = arrays.get(READER, {}).get('qa_outputs.dense_output.weight')  # [1, S]
  return config_lib.ModelConfig(
    embedder_bert=bert,
    reader_bert=berts.get(READER, bert),
    embedder=embedder,
    span_hidden_size=256 if span is None else span.shape[-1],
  )


def _only(paths: Sequence[str], name: str) -> str | None:
  """Returns the file of a name, or None; UserError for different files."""
  found = sorted({path for path in paths if os.path.basename(path) == name})
  if len({tf.io.gfile.stat(path).length for path in found}) > 1:
    raise errors.UserError(
      f'There must be one {name}. Found different ones, {" and ".join(found)}. '
      'Name the right one, as --vocab_file or --blocks.'
    )
  return found[0] if found else None


def find(source: str) -> tuple[list[str], list[str]]:
  """Returns the newest checkpoint of each training job, and other files.

  The source is comma-separated prefixes, or directories to search at any depth.
  """
  prefixes, others = [], []
  for item in filter(None, source.split(',')):
    found = [item] if tf.io.gfile.exists(f'{item}.index') else []
    if found:
      # The vocabulary and blocks next to a checkpoint or TF Hub module.
      folder = os.path.dirname(item)
      above = os.path.dirname(folder)
      places = [folder, *(os.path.join(p, 'assets') for p in (folder, above))]
      files = [os.path.join(p, n) for n in _BESIDE for p in places]
      others += filter(tf.io.gfile.exists, files)
    else:
      found, files = _search(item)
      others += files
    if not found:
      raise errors.UserError(
        'tf1: must name the prefix of a checkpoint with the files PREFIX.index '
        'and PREFIX.data-..., or a directory of checkpoints. Found neither '
        f'{item}.index nor, in {item}, a file *.index. Check --source.'
      )
    prefixes += found
  return sorted({*prefixes}), others


def _search(directory: str) -> tuple[list[str], list[str]]:
  """Returns the checkpoints at any depth, and all other files."""
  prefixes, files = [], []
  for folder, _, names in tf.io.gfile.walk(directory):
    newest = {}
    for name in names:
      files.append(os.path.join(folder, name))
      if name.endswith('.index') and '.tempstate' not in name:
        stem = name[: -len('.index')]
        match = _STEP.fullmatch(stem)
        key, step = (match[1], int(match[2])) if match else (stem, -1)
        newest[key] = max(newest.get(key, (-1, stem)), (step, stem))
    prefixes += [os.path.join(folder, stem) for _, stem in newest.values()]
  return prefixes, files


def recognize(
  names: Iterable[str], source: str
) -> tuple[dict[str, dict[str, str]], list[str]]:
  """Returns `names` and `left_over` of a `Checkpoint`.

  UserError if two are the same weight of one part.
  """
  kept = [name for name in sorted(names) if not _SKIPPED.search(name)]
  heads = {
    match['where']
    for match in map(_HEAD.fullmatch, kept)
    if match and 'reader/' not in match['where']
  }
  parts: dict[str, dict[str, str]] = {}
  left_over = []
  for name in kept:
    found = _part_and_name(name, heads)
    if found is None:
      left_over.append(name)
      continue
    part, theirs = found
    other = parts.setdefault(part, {}).setdefault(theirs, name)
    if other != name:
      raise errors.UserError(
        f'A checkpoint must hold one {part}. Found two in {source}, with '
        f'{other} and {name}. Save them as two checkpoints.'
      )
  return parts, left_over


def _part_and_name(name: str, heads: Collection[str]) -> tuple[str, str] | None:
  """Returns (part, Hugging Face's name), or None for another variable."""
  if name.split('/')[-1] == 'block_emb':
    return INDEX, 'block_emb'
  if match := _BERT.fullmatch(name):
    where = match['where']
    above = re.sub(r'module(_\d+)?/$', '', where)
    is_below = 'reader/' not in where and where != above and above in heads
    return EMBEDDER if is_below else READER, _dotted(match['rest'])
  if match := _MASKED_LM.fullmatch(name):
    # Checkpoints of BERT also have the next-sentence head here.
    return READER, _dotted(match['rest'])
  if match := _HEAD.fullmatch(name):
    part = READER if 'reader/' in match['where'] else EMBEDDER
    layer = _HEADS[part].get(match['layer'])
    if layer:
      return part, layer + _dotted(f'/{match["rest"]}')
  return None


def _dotted(rest: str) -> str:
  """Translates a name without 'bert/', or 'cls/predictions/...'."""
  for theirs, ours in _SPELLINGS:
    rest = re.sub(theirs, ours, rest)
  return rest.replace('/', '.')
