"""Reads the authors' TF1 checkpoints as our config and variables.

The release stores a model in several checkpoints (Section 7 of their notes):
the reader's BERT, the embedder as a TF Hub module, the index as one variable,
and a QA model with the embedder of queries only.

The ends of names identify weights. Their prefixes differ between files:
"module/" repeats for each wrapped module, "reader/" marks a QA model. An
embedder's head is one module above its BERT; a BERT without such a head belongs
to a reader.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
import contextlib
import os
import re
from typing import NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_files
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.model import bert as bert_lib
from realm_tf.model import weights

_HEAD_SIZE = 64  # BERT's head size at every hidden size.
_WORDS = 'embeddings.word_embeddings.weight'
EMBEDDER, READER = 'embedder', 'reader'
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
_SUFFIXES = {'kernel': 'weight', 'gamma': 'weight', 'beta': 'bias'}
_STEP = re.compile(r'(.*)-(\d+)')


# Kind -> Hugging Face's name -> value; kernels are [out, in].
_Arrays = dict[str, dict[str, np.ndarray]]


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads the parts of a model from comma-separated prefixes or directories.

  Missing, damaged and duplicate parts raise UserError.
  """
  prefixes, others = find(source)
  checkpoints = [*map(_open, prefixes)]
  kinds = {kind for _, arrays, _ in checkpoints for kind in arrays}
  if not kinds:
    raise errors.UserError(
      f'tf1:{source} must hold a BERT encoder. Found none. Give the prefixes '
      "of the embedder's and the reader's checkpoints, with commas."
    )
  readers = [arrays[READER] for _, arrays, _ in checkpoints if READER in arrays]
  # No released BERT has a span head.
  is_plain = EMBEDDER not in kinds and not any(
    name.startswith('qa_outputs.') for names in readers for name in names
  )
  parts = [
    _part(prefix, *each, is_plain=is_plain, num_heads=given.num_heads)
    for prefix, each in zip(prefixes, checkpoints, strict=True)
  ]
  given = given._replace(
    blocks_file=given.blocks_file or _only(others, 'blocks.tfr'),
    vocab_file=given.vocab_file or _only(others, 'vocab.txt'),
  )
  return imported.join(parts, given)


def _open(
  prefix: str,
) -> tuple['Recognized', _Arrays, Optional[hugging_face_files.Rows]]:
  """Returns a checkpoint's names, values and, if any, the index's matrix.

  TensorFlow compares checksums.
  """
  with _checked(prefix):
    reader = tf.train.load_checkpoint(prefix)
    names = reader.get_variable_to_shape_map()
  found = recognize(names, prefix)
  arrays: _Arrays = {}
  for kind, by_theirs in found.parts.items():
    arrays[kind] = {}
    for theirs, name in by_theirs.items():
      with _checked(prefix):
        value = reader.get_tensor(name)
      # Kernels of nn.Linear are transposed.
      arrays[kind][theirs] = value.T if name.endswith('/kernel') else value
  rows = None
  if found.block_embeddings:
    with _checked(prefix):
      matrix = reader.get_tensor(found.block_embeddings)
    if matrix.ndim != 2:
      raise errors.UserError(
        f'{found.block_embeddings} must have one row a block. Found shape '
        f'{matrix.shape} in {prefix}. Leave this checkpoint out.'
      )
    rows = hugging_face_files.Rows(matrix.shape, matrix.__getitem__, prefix)
  return found, arrays, rows


def _part(
  prefix: str,
  found: 'Recognized',
  values: _Arrays,
  rows: Optional[hugging_face_files.Rows],
  *,
  is_plain: bool,
  num_heads: Optional[int],
) -> imported.Imported:
  """Returns a part of the model; everything starts from a plain BERT."""
  towers = {EMBEDDER: ('shared',), READER: ('reader',)}
  if is_plain:
    towers[READER] = 'shared', 'reader'
  arrays: dict[str, np.ndarray] = {}
  berts: dict[str, config_lib.BertConfig] = {}
  used = [found.block_embeddings] if found.block_embeddings else []
  missing, left_over = [], [*found.left_over]
  for kind, theirs in values.items():
    names = found.parts[kind]
    berts[kind] = _bert_config(theirs, names, prefix, num_heads)
    ours, report = hugging_face_names.convert(
      theirs, berts[kind], {'': towers[kind]}
    )
    hugging_face_names.check_whole(report, prefix)
    arrays |= ours
    used += [names[name] for name in report.used]
    missing += report.missing
    left_over += [names[name] for name in report.left_over]
  return imported.Imported(
    _model_config(values, berts),
    arrays,
    weights.LoadReport(used, missing, left_over),
    embeddings=rows,
    notes=('A plain BERT: both embedders and the reader start from it.',)
    if is_plain
    else (),
    path=prefix,
    is_tuned=len(berts) == 2,
  )


@contextlib.contextmanager
def _checked(prefix: str) -> Iterator[None]:
  """Makes a UserError of TensorFlow's errors for a damaged checkpoint."""
  try:
    yield
  except (tf.errors.OpError, LookupError, RuntimeError, ValueError) as error:
    raise errors.UserError(
      f'tf1:{prefix} must be a whole checkpoint. Found: {error}. Copy all of '
      'its files again.'
    ) from error


def _bert_config(
  arrays: Mapping[str, np.ndarray],
  names: Mapping[str, str],
  prefix: str,
  num_heads: Optional[int],
) -> config_lib.BertConfig:
  """Returns the sizes of an encoder, from the shapes of its weights."""
  if _WORDS not in arrays:
    raise errors.UserError(
      f'A BERT must be in one checkpoint with its heads. Found '
      f'{min(names.values())} but no word embeddings in {prefix}. Check '
      '--source.'
    )
  vocab_size, width = arrays[_WORDS].shape
  num_layers = hugging_face_names.num_layers(arrays)
  inner = arrays.get('encoder.layer.0.intermediate.dense.bias')
  positions = arrays.get('embeddings.position_embeddings.weight')
  if not num_layers or inner is None or positions is None:
    raise errors.UserError(
      f'{prefix} must hold a whole BERT encoder. Found word embeddings '
      'without position embeddings or a first layer. Check --source.'
    )
  if not num_heads and width % _HEAD_SIZE:
    raise errors.UserError(
      f"Attention's heads are {_HEAD_SIZE} wide by default. Found width "
      f'{width} in {prefix}. Give --num_heads.'
    )
  if num_heads and width % num_heads:
    raise errors.UserError(
      f'--num_heads must divide the width of {prefix}, {width}. Found '
      f'{num_heads}.'
    )
  return config_lib.BertConfig(
    vocab_size=vocab_size,
    hidden_size=width,
    num_layers=num_layers,
    num_heads=num_heads or width // _HEAD_SIZE,
    intermediate_size=len(inner),
    max_positions=len(positions),
  )


def _model_config(
  arrays: Mapping[str, Mapping[str, np.ndarray]],
  berts: Mapping[str, config_lib.BertConfig],
) -> config_lib.ModelConfig:
  """Returns the config of a checkpoint's parts; of its BERT for both."""
  default = config_lib.BertConfig()
  bert = berts.get(EMBEDDER, berts.get(READER, default))
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


def _only(paths: Sequence[str], name: str) -> Optional[str]:
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
  prefixes, others, found = [], [], 'no file *.index'
  for item in filter(None, source.split(',')):
    if tf.io.gfile.exists(f'{item}.index'):
      prefixes.append(item)
      # The vocabulary and blocks next to a checkpoint or TF Hub module.
      folder = os.path.dirname(item)
      assets = os.path.join(folder, 'assets')
      above = os.path.join(os.path.dirname(folder), 'assets')
      beside = [
        os.path.join(place, 'vocab.txt') for place in (folder, assets, above)
      ]
      beside.append(os.path.join(folder, 'blocks.tfr'))
      others += filter(tf.io.gfile.exists, beside)
    elif tf.io.gfile.isdir(item):
      in_directory, files = _search(item)
      prefixes += in_directory
      others += files
    else:
      prefixes, found = [], f'neither {item}.index nor a directory'
      break
  if not prefixes:
    raise errors.UserError(
      f'tf1:{source} must be the prefix of a checkpoint with the files '
      'PREFIX.index and PREFIX.data-..., or a directory of checkpoints. Found '
      f'{found}. Check --source.'
    )
  return sorted(set(prefixes)), others


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


class Recognized(NamedTuple):
  """Names of one checkpoint, by kind.

  Attributes:
    parts: EMBEDDER or READER -> {Hugging Face's name: name in the file}.
    block_embeddings: Name of the index's matrix, if any.
    left_over: All other names.
  """

  parts: dict[str, dict[str, str]]
  block_embeddings: Optional[str]
  left_over: list[str]


def recognize(names: Iterable[str], source: str) -> Recognized:
  """Sorts names by kind; UserError if two are the same weight of one part."""
  kept = [name for name in sorted(names) if not _SKIPPED.search(name)]
  blocks = [name for name in kept if name.split('/')[-1] == 'block_emb']
  heads = {
    match['where']
    for match in map(_HEAD.fullmatch, kept)
    if match and 'reader/' not in match['where']
  }
  parts, left_over = {}, []
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
  return Recognized(
    parts,
    blocks[0] if blocks else None,
    [name for name in left_over if name not in blocks[:1]],
  )


def _part_and_name(
  name: str, heads: Collection[str]
) -> Optional[tuple[str, str]]:
  """Returns (part, Hugging Face's name), or None for another variable."""
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
      return part, f'{layer}.{_SUFFIXES.get(match["rest"], match["rest"])}'
  return None


def _dotted(rest: str) -> str:
  """Translates a name without 'bert/', or 'cls/predictions/...'."""
  *path, last = re.sub(r'layer_(\d+)', r'layer/\1', rest).split('/')
  if last.endswith('_embeddings'):
    path += [last, 'weight']
  elif last == 'output_bias':
    path += ['bias']
  else:
    path += [_SUFFIXES.get(last, last)]
  return '.'.join(path)
