"""Writes the README.md of a TF Hub module: its use, inputs and outputs."""

from realm_tf import config as config_lib

_HEADER = """# Module realm_tf/{name}/1

{summary}

<!-- asset-path: this directory -->
<!-- task: {task} -->
<!-- fine-tunable: true -->
<!-- format: saved_model_2 -->
<!-- network-architecture: bert -->

## Overview

{overview}
Guu et al., 2020, "REALM: Retrieval-Augmented Language Model Pre-Training",
Section 3.2 (arXiv 2002.08909). The module was written by `bin.export
--format=hub` of realm_tf and needs none of its code: only `tensorflow`,
`tensorflow_text` (its ops cut text into wordpieces) and, for `hub.KerasLayer`,
`tensorflow_hub`. The vocabulary is uncased: {vocab_size} wordpieces, in
`assets/vocab.txt` and as `module.vocab_file`.

## Use

```python
import tensorflow_hub as hub
import tensorflow_text  # Registers the ops.

{use}
```

Fine-tuned: `hub.KerasLayer(path, trainable=True)`; with `training=True` there
is dropout. There are no regularization losses.

## Inputs and outputs

B texts, L wordpieces (at most {max_positions}), H = {hidden_size}{more}
Packed wordpieces are a dict of `input_word_ids`, `input_mask` (1 = a wordpiece)
and `input_type_ids` (1 = the second segment), int32 [B, L] each:
{packing}.

| called with | returns |
|---|---|
{calls}

| signature | inputs | outputs |
|---|---|---|
{signatures}
"""

_EMBEDDER_SIGNATURES = """\
| `serving_default` | {strings} | `default`, float32 [B, {size}] |
| `projected` | `input_ids`, `input_mask`, `segment_ids`, int32 [B, L] | \
`default`, float32 [B, {size}] |"""


def card(
  name: str,
  config: config_lib.ModelConfig,
  lengths: config_lib.LengthConfig,
  has_masked_lm: bool,
) -> str:
  """Returns the card as Markdown.

  Args:
    name: 'query_embedder', 'block_embedder' or 'knowledge_encoder'.
    has_masked_lm: Whether a knowledge encoder has the masked-LM head.
  """
  if name == 'knowledge_encoder':
    bert = config.reader_bert
    fields = _knowledge_encoder(lengths, has_masked_lm)
  else:
    bert = config.embedder_bert
    fields = _embedder(name, config, lengths)
  return _HEADER.format(
    name=name,
    vocab_size=bert.vocab_size,
    max_positions=bert.max_positions,
    hidden_size=bert.hidden_size,
    **fields,
  )


def _embedder(name, config, lengths):
  size = config.embedder.width(config.embedder_bert.hidden_size)
  is_query = name == 'query_embedder'
  if is_query:
    strings = '`texts`, string [B]'
    use = "embed = hub.load(path)\nembed(['who wrote Fidelio'])"
    packing = '[CLS] text [SEP]'
    limit = f'{lengths.query_tokens} wordpieces with [CLS] and [SEP]'
  else:
    strings = '`titles`, `texts`, string [B]'
    use = (
      'embed = hub.load(path)\n'
      "embed({'titles': ['Fidelio'], 'texts': ['An opera in two acts.']})"
    )
    packing = '[CLS] title [SEP] text [SEP]'
    limit = (
      f'{lengths.block_tokens} wordpieces with [CLS] and [SEP], of which the '
      f"title's at most {lengths.title_tokens}"
    )
  embedder = config.embedder
  prompt = embedder.query_prompt if is_query else embedder.block_prompt
  what = 'a question or a masked sentence' if is_query else 'a block of text'
  of = 'Embed_input' if is_query else 'Embed_doc'
  returns = f'float32 [B, {size}]'
  return {
    'summary': f'Embeds {what} for retrieval by inner product: {of}.',
    'task': 'text-embedding',
    'overview': (
      'The inner product of the embeddings of `query_embedder` and '
      '`block_embedder` of\none model is the retrieval score f(x,z). Modules '
      'of two do not go together.\n'
    ),
    'use': use,
    'more': '.',
    'packing': f'{packing}.\nStrings are cut to {limit}{_prompt(prompt)}',
    'calls': f'| {strings} | {returns} |\n| packed wordpieces | {returns} |',
    'signatures': _EMBEDDER_SIGNATURES.format(strings=strings, size=size),
  }


def _prompt(prompt):
  if not prompt:
    return ''
  return (
    '. Behind [CLS]\nthe module puts the prompt that it was trained with, '
    f'{len(prompt.split())} wordpieces'
  )


def _knowledge_encoder(lengths, has_masked_lm):
  states = '`sequence_output` [B, L, H], `pooled_output` [B, H]'
  logits = '`mlm_logits` [B, M, V] at `mlm_positions` [B, M]'
  ids = '`input_ids`, `input_mask`, `segment_ids`, int32 [B, L]'
  strings = '`queries`, `texts`, string [B]'
  from_strings = f'{states}, `input_word_ids` [B, L]'
  if has_masked_lm:
    from_strings += f', {logits}'
  calls = [f'| {strings} | {from_strings} |', f'| packed | {states} |']
  signatures = [
    f'| `serving_default` | {strings} | {from_strings} |',
    f'| `tokens` | {ids} | {states} |',
  ]
  if has_masked_lm:
    calls.append(
      f'| packed and `mlm_positions`, int32 [B, M] | {states}, {logits} |'
    )
    signatures.append(
      f'| `mlm` | {ids}; `mlm_positions`, int32 [B, M] | {states}, {logits} |'
    )
  overview = (
    'p(y_j|z,x) is the softmax of the logits at a [MASK]; rows with fewer '
    'of them than\nothers have position 0 behind.\n'
    if has_masked_lm
    else 'The model was fine-tuned to read answers and has no head for masked '
    'tokens:\nthere is no `mlm` signature.\n'
  )
  return {
    'summary': 'Reads a query together with a block: BERT of join(x, z).',
    'task': 'text-language-model' if has_masked_lm else 'text-embedding',
    'overview': overview,
    'use': (
      'encode = hub.load(path)\n'
      "encode({'queries': ['The [MASK] of Fidelio is Beethoven'],\n"
      "        'texts': ['Beethoven composed Fidelio.']})"
    ),
    'more': ', V wordpieces, M masked.',
    'packing': (
      '[CLS] query [SEP] text [SEP].\nStrings are cut to '
      f'{lengths.joint_tokens} wordpieces, the query to {lengths.query_tokens}'
    ),
    'calls': '\n'.join(calls),
    'signatures': '\n'.join(signatures),
  }
