"""Names of variables in the TF1 release -> parts, by Hugging Face's names.

The ends of names identify weights. Their prefixes differ between files:
"module/" repeats for each wrapped module, "reader/" marks a QA model. An
embedder's head is one module above its BERT; a BERT without such a head belongs
to a reader.
"""

from collections.abc import Collection, Iterable
import re
from typing import NamedTuple, Optional

from realm_tf import errors

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
    if match and not _is_reader(match['where'])
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
    is_below = not _is_reader(where) and where != above and above in heads
    return EMBEDDER if is_below else READER, _dotted(match['rest'])
  if match := _MASKED_LM.fullmatch(name):
    # Checkpoints of BERT also have the next-sentence head here.
    return READER, _dotted(match['rest'])
  if match := _HEAD.fullmatch(name):
    part = READER if _is_reader(match['where']) else EMBEDDER
    layer = _HEADS[part].get(match['layer'])
    if layer:
      return part, f'{layer}.{_suffix(match["rest"])}'
  return None


def _is_reader(where: str) -> bool:
  return 'reader/' in where


def _dotted(rest: str) -> str:
  """Translates a name without 'bert/', or 'cls/predictions/...'."""
  *path, last = re.sub(r'layer_(\d+)', r'layer/\1', rest).split('/')
  if last.endswith('_embeddings'):
    path += [last, 'weight']
  elif last == 'output_bias':
    path += ['bias']
  else:
    path += [_suffix(last)]
  return '.'.join(path)


def _suffix(last: str) -> str:
  return _SUFFIXES.get(last, last)
