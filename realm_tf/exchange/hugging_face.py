"""Hugging Face directories -> one model, its weights and its index.

Reads BERT, DistilBERT, ELECTRA and REALM models (`google/realm-*`), their
readers of SQuAD, sentence-transformers, and T5, without torch or transformers.
"""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import json_text
from realm_tf.exchange import hugging_face_files
from realm_tf.exchange import hugging_face_hub
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.exchange import sentence_transformers
from realm_tf.exchange import span_heads
from realm_tf.exchange import t5
from realm_tf.model import bert
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.text import tokenizer_files

_KINDS = 'bert', 'realm', 'distilbert', 'electra'
_ACTIVATIONS = {
  'gelu': 'gelu',
  'gelu_new': 'gelu_tanh',
  'gelu_pytorch_tanh': 'gelu_tanh',
  'gelu_python': 'gelu',
  'relu': 'relu',
}
_WIDTH = json_text.optional(json_text.count(1, 65_536))
_NUMBER = json_text.optional(json_text.NUMBER)
# Fields that change a model's outputs, and that must be false or empty.
_OFF = (
  'is_decoder',
  'add_cross_attention',
  'is_encoder_decoder',
  'pruned_heads',
  'quantization_config',
)
_FIELDS = {
  'architectures': json_text.optional(list[str]),
  'hidden_act': json_text.optional(json_text.one_of(*_ACTIVATIONS)),
  'layer_norm_eps': json_text.optional(
    json_text.number(
      0.999 * bert.LAYER_NORM_EPSILON, 1.001 * bert.LAYER_NORM_EPSILON
    )
  ),
  'position_embedding_type': json_text.optional(json_text.one_of('absolute')),
  'tie_word_embeddings': json_text.optional(bool),
  'vocab_size': json_text.POSITIVE,
  'hidden_size': json_text.POSITIVE,
  'num_hidden_layers': json_text.count(1, 1000),
  'num_attention_heads': json_text.POSITIVE,
  'intermediate_size': json_text.POSITIVE,
  'max_position_embeddings': json_text.POSITIVE,
  'hidden_dropout_prob': _NUMBER,
  'attention_probs_dropout_prob': _NUMBER,
  'embedding_size': _WIDTH,
  'retriever_proj_size': _WIDTH,
  'span_hidden_size': _WIDTH,
  'max_span_width': _WIDTH,
  'reader_beam_size': _WIDTH,
  'reader_seq_len': _WIDTH,
  'searcher_beam_size': _WIDTH,
}


# DistilBERT's field -> BERT's.
_DISTILBERT = {
  'dim': 'hidden_size',
  'hidden_dim': 'intermediate_size',
  'n_layers': 'num_hidden_layers',
  'n_heads': 'num_attention_heads',
  'activation': 'hidden_act',
  'dropout': 'hidden_dropout_prob',
  'attention_dropout': 'attention_probs_dropout_prob',
}
_TYPES = '_bert/type_embeddings/embeddings'  # DistilBERT has none.
_LINEAR_KERNEL = f'{hugging_face_names.LINEAR_HEAD}/kernel'
_RECORDS = 'block_records.npy'
_BLOCK_EMBEDDINGS = 'block_emb'  # Name of the index's matrix.
_NORMALIZED_SCALE = 20.0  # The scale of sentence-transformers' training.
_HEAD = 'cls.predictions.transform.dense.weight'
_DECODER = 'cls.predictions.decoder.weight'
# Name that we read -> second name of the same tensor.
_TIED = {
  'embeddings.word_embeddings.weight': _DECODER,
  'cls.predictions.bias': 'cls.predictions.decoder.bias',
}


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads a model's parts from comma-separated directories or hub names.

  Missing, damaged and duplicate parts raise UserError.
  """
  names = [each for each in source.split(',') if each]
  directories = [hugging_face_hub.directory(name) for name in names]
  if not directories:
    raise errors.UserError(
      '--source=hf:DIR must name a directory. Found none. Give one with '
      'config.json, model.safetensors and vocab.txt.'
    )
  if len(directories) == 1 and t5.is_t5(directories[0]):
    return t5.load(directories[0], given)
  found = imported.join([read(each) for each in directories], given)
  return span_heads.resolve(found) if _LINEAR_KERNEL in found.arrays else found


def _notes(recipe: sentence_transformers.Recipe) -> list[str]:
  """Returns notes on prompts and normalization."""
  settings = recipe.settings
  prompts = {'query': settings.query_prompt, 'block': settings.block_prompt}
  notes = [
    f'Each {what} gets the prompt {prompt!r}, as in training.'
    for what, prompt in prompts.items()
    if prompt
  ]
  if not recipe.normalizes:
    notes.append(
      'Embeddings are normalized: scores are cosines.'
      if recipe.normalize
      else 'Embeddings are not normalized: scores are inner products.'
    )
  return notes


def read(path: str) -> imported.Imported:
  """Reads a directory; UserError for damaged files and unsupported models."""
  recipe = sentence_transformers.read(path)
  encoder_dir = recipe.encoder_dir
  config_path = os.path.join(encoder_dir, 'config.json')
  values = _read_config(encoder_dir, config_path)
  records = os.path.join(encoder_dir, _RECORDS)
  architecture = next(iter(values.get('architectures', [])), '')
  model = _model_config(values, config_path, architecture, recipe)
  if tf.io.gfile.exists(os.path.join(encoder_dir, 'adapter_config.json')):
    raise errors.UserError(
      'A Hugging Face directory must hold a whole model. Found the adapter of '
      f'one, adapter_config.json in {encoder_dir}. Merge it first, with '
      'merge_and_unload() of peft.'
    )
  tensors = hugging_face_files.Tensors(encoder_dir)
  is_tied = values.get('tie_word_embeddings', True)
  arrays, report = _convert(tensors, model, architecture, is_tied, config_path)
  if values['model_type'] == 'distilbert':
    report = _add_types(arrays, report, model.reader_bert.hidden_size)
  hugging_face_names.check_whole(report, path)
  size = model.reader_bert.hidden_size
  for name in report.missing:  # Poolers; zeros where no head reads them.
    if name.startswith('reader_') or model.embedder.head != 'pooled':
      shape = [size] if name.endswith('/bias') else [size, size]
      arrays[name] = np.zeros(shape, np.float32)
  if recipe.dense is not None:
    arrays['shared_embedder/projection/kernel'] = recipe.dense.kernel
    arrays['shared_embedder/projection/bias'] = recipe.dense.bias
  if model.embedder.normalize:  # Training starts with temperature 1, bias 0.
    for name in (realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS):
      arrays[name] = np.zeros([], np.float32)
  return imported.Imported(
    model,
    arrays,
    report,
    _finetuning_config(values),
    tensors.rows(_BLOCK_EMBEDDINGS),
    records if tf.io.gfile.exists(records) else None,
    tokenizer_files.find(encoder_dir),
    notes=tuple(_notes(recipe)),
    settings=recipe.settings,
    path=path,
    is_tuned=architecture == 'RealmForOpenQA',
  )


def _add_types(
  arrays: dict[str, np.ndarray], report: weights.LoadReport, hidden_size: int
) -> weights.LoadReport:
  """Adds embeddings of segments, zeros; returns the report without them."""
  lacking = [name for name in report.missing if name.endswith(_TYPES)]
  for name in lacking:
    arrays[name] = np.zeros([2, hidden_size], np.float32)
  kept = [name for name in report.missing if name not in lacking]
  return report._replace(missing=kept)


def _read_config(directory: str, path: str) -> dict[str, Any]:
  """Returns the config in BERT's words; UserError for other networks."""
  name = os.path.basename(path)
  kind = hugging_face_files.read_json(
    directory, name, {'model_type': str}, required=True
  )['model_type']
  if kind not in _KINDS:
    raise errors.UserError(
      'A Hugging Face directory must hold a BERT, DistilBERT or ELECTRA. Found '
      f'a {kind:.60} in {path}. Take an uncased BERT of its kind: as a reader '
      'deepset/minilm-uncased-squad2 or deepset/bert-base-uncased-squad2.'
    )
  if kind == 'distilbert':
    own = {ours: theirs for theirs, ours in _DISTILBERT.items()}
    fields = {own.get(field, field): each for field, each in _FIELDS.items()}
    values = hugging_face_files.read_json(directory, name, fields)
    return {_DISTILBERT.get(n, n): value for n, value in values.items()}
  values = hugging_face_files.read_json(directory, name, _FIELDS)
  width = values.get('embedding_size', values['hidden_size'])
  if width != values['hidden_size']:
    raise hugging_face_files.wrong(
      path, 'have embeddings of its hidden size', f'embedding_size {width}'
    )
  return values


def _convert(
  tensors: hugging_face_files.Tensors,
  model: config_lib.ModelConfig,
  architecture: str,
  is_tied: bool,
  config_path: str,
) -> tuple[dict[str, np.ndarray], weights.LoadReport]:
  """Returns values by our names, and the report."""
  roles = hugging_face_names.ROLES.get(
    architecture, hugging_face_names.BERT_ROLES
  )
  names = {hugging_face_names.modern(name): name for name in tensors}
  if 'reader' in roles.get('', ()):  # Other heads are not read.
    _resolve_tied(names, tensors, is_tied, config_path)
  arrays, report = hugging_face_names.convert(
    tensors, model.reader_bert, roles, names
  )
  # The index's matrix is used, and second names of tensors are no tensors.
  used = {*report.used, *({_BLOCK_EMBEDDINGS} & {*report.left_over})}
  left_over = [
    name
    for name in report.left_over
    if name not in used
    and hugging_face_names.modern(name) not in _TIED.values()
  ]
  return arrays, report._replace(used=sorted(used), left_over=left_over)


def _model_config(
  values: dict[str, Any],
  path: str,
  architecture: str,
  recipe: sentence_transformers.Recipe,
) -> config_lib.ModelConfig:
  """Returns the networks' config; REALM models have the release's embedder."""
  for name in _OFF:
    if values.get(name):
      found = json_text.shown(values[name])
      raise hugging_face_files.wrong(path, f'have no {name}', found)
  try:
    encoder = config_lib.BertConfig(
      vocab_size=values['vocab_size'],
      hidden_size=values['hidden_size'],
      num_layers=values['num_hidden_layers'],
      num_heads=values['num_attention_heads'],
      intermediate_size=values['intermediate_size'],
      max_positions=values['max_position_embeddings'],
      dropout_rate=float(values.get('hidden_dropout_prob', 0.1)),
      attention_dropout_rate=float(
        values.get('attention_probs_dropout_prob', 0.1)
      ),
      activation=_ACTIVATIONS[values.get('hidden_act', 'gelu')],
    )
  except ValueError as error:  # A check of BertConfig failed.
    raise hugging_face_files.wrong(
      path, 'be the config of a BERT', error
    ) from error
  if values['model_type'] == 'realm':
    embedder = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=values.get('retriever_proj_size', 128),
      shared_towers=architecture != 'RealmScorer',
      layer_norm_epsilon=bert.LAYER_NORM_EPSILON,
    )
  else:
    embedder = _sentence_embedder(recipe, encoder.hidden_size)
  return config_lib.ModelConfig(
    embedder_bert=encoder,
    reader_bert=encoder,
    embedder=embedder,
    span_hidden_size=values.get('span_hidden_size', 256),
    max_span_width=values.get('max_span_width', 10),
  )


def _sentence_embedder(
  recipe: sentence_transformers.Recipe, hidden_size: int
) -> config_lib.EmbedderConfig:
  dense = recipe.dense
  return config_lib.EmbedderConfig(
    head=recipe.head,
    embedding_size=dense.kernel.shape[-1] if dense else hidden_size,
    dense=dense.activation if dense else 'none',
    normalize=recipe.normalize,
    score_scale=_NORMALIZED_SCALE if recipe.normalize else 1.0,
    shared_towers=True,
  )


def _finetuning_config(values: dict[str, Any]) -> config_lib.FinetuningConfig:
  """Returns the settings of reading, which only a REALM has, or defaults."""
  default = config_lib.FinetuningConfig()
  num_read = values.get('reader_beam_size', default.num_read)
  num_searched = values.get('searcher_beam_size', default.num_searched)
  return config_lib.FinetuningConfig(
    joint_tokens=values.get('reader_seq_len', default.joint_tokens),
    num_read=num_read,
    num_searched=max(num_read, num_searched),
  )


def _resolve_tied(
  names: dict[str, str],
  tensors: hugging_face_files.Tensors,
  is_tied: bool,
  config_path: str,
) -> None:
  """Adds shared tensors to `names`; UserError if the head's tensors differ.

  Args:
    names: Name that we read -> name in the file.
    is_tied: Whether the config declares shared weights.
    config_path: config.json, for the error.
  """
  found = ''
  if not is_tied and _HEAD in names and _DECODER not in names:
    found = f'no {_DECODER}'
  for ours, other in _TIED.items():
    if other in names:
      one, two = names.setdefault(ours, names[other]), names[other]
      if not np.array_equal(tensors[one], tensors[two]):
        found = found or f'{two} that is not {one}'
  if found:
    raise errors.UserError(
      'The masked-LM head must share its weights with the encoder '
      f'(tie_word_embeddings in {config_path}). Found {found}. Choose another '
      'model, or save it without its head.'
    )
