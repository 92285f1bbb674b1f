"""Writes the README.md of an exported encoder from one template."""

from collections.abc import Mapping, Sequence
import string

from realm_tf import config as config_lib

_CARD = string.Template("""\
$before# $title

$summary
REALM: Guu et al., 2020, "REALM: Retrieval-Augmented Language Model
Pre-Training" (arXiv 2002.08909), Section 3.2. `bin.export --format=$format` of
realm_tf wrote this directory; no code of realm_tf is needed to use it.

```python
$use
```

$facts
""")
_SUMMARIES = {
  'query': 'Embeds a question or a masked sentence for retrieval.',
  'block': 'Embeds a block of text for retrieval.',
  'reader': 'Reads a query together with a block.',
}

_USE_HUB = """\
import tensorflow_hub as hub
import tensorflow_text  # Registers the ops that cut text into wordpieces.

module = hub.load(path)
"""
_CALLS = {
  'query_embedder': "module(['who wrote Fidelio'])",
  'block_embedder': (
    "module({'titles': ['Fidelio'], 'texts': ['An opera in two acts.']})"
  ),
  'knowledge_encoder': (
    "module({'queries': ['The [MASK] of Fidelio is Beethoven'],\n"
    "        'texts': ['Beethoven composed Fidelio.']})"
  ),
}
_FACTS_HUB = """\
The inner product of both embedders of one model is the retrieval score f(x,z).
Calls take strings, as above, or packed wordpieces: a dict of `input_word_ids`,
`input_mask` (1 = a wordpiece) and `input_type_ids` (1 = the second segment),
int32 [texts, wordpieces] each: [CLS] first [SEP], or [CLS] first [SEP] second
[SEP]. The knowledge encoder also takes `mlm_positions`, if it has a signature
`mlm`. Strings are cut to {limit} wordpieces. The vocabulary has {vocab_size}
wordpieces, in `assets/vocab.txt` and as `module.vocab_file`. For fine-tuning:
`hub.KerasLayer(path, trainable=True)`; with `training=True` there is dropout.

| signature | inputs | outputs |
|---|---|---|
{signatures}

Origin: {origin}"""

_USE_SENTENCES = """\
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(DIR)
queries = model.encode_query(['who wrote the opera Fidelio'])
blocks = model.encode_document([('Fidelio', 'An opera by Beethoven.')])
scores = model.similarity(queries, blocks)"""
_FACTS_SENTENCES = """\
A block is a pair of title and text. realm_tf embeds at most {query_tokens}
wordpieces of a query and {block_tokens} of a block, [CLS] and [SEP] included.
Its score f(x,z) is {scale:g} times the inner product, before its temperature.
{prompts}"""
_BEFORE_SENTENCES = """\
---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- feature-extraction
---

"""

_USE_BERT = """\
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(DIR)
model = AutoModel.from_pretrained(DIR)"""
_BEFORE_BERT = '---\nlibrary_name: transformers\n---\n\n'


def of_module(
  name: str,
  signatures: Sequence[tuple[str, str, str]],
  lengths: config_lib.LengthConfig,
  vocab_size: int,
  origin: str,
) -> str:
  """Returns the card of a TF Hub module.

  Args:
    name: 'query_embedder', 'block_embedder' or 'knowledge_encoder'.
    signatures: Name, inputs and outputs of each signature.
    origin: Sentence on the model.
  """
  limits = {
    'query_embedder': lengths.query_tokens,
    'block_embedder': lengths.block_tokens,
    'knowledge_encoder': lengths.joint_tokens,
  }
  tower = name.partition('_')[0]
  return _CARD.substitute(
    before='',
    title=f'Module realm_tf/{name}/1',
    summary=_SUMMARIES.get(tower, _SUMMARIES['reader']),
    format='hub',
    use=_USE_HUB + _CALLS[name],
    facts=_FACTS_HUB.format(
      limit=limits[name],
      vocab_size=vocab_size,
      signatures='\n'.join(f'| {" | ".join(row)} |' for row in signatures),
      origin=origin,
    ),
  )


def of_sentences(
  tower: str, config: config_lib.ExperimentConfig, prompts: Mapping[str, str]
) -> str:
  """Returns the card of a directory that sentence-transformers opens."""
  lines = [
    f'Before each {name} stands `{text}`.\n' for name, text in prompts.items()
  ]
  return _CARD.substitute(
    before=_BEFORE_SENTENCES,
    title=f'realm_tf {tower} embedder',
    summary=_SUMMARIES[tower],
    format='hugging_face',
    use=_USE_SENTENCES,
    facts=_FACTS_SENTENCES.format(
      query_tokens=config.lengths.query_tokens,
      block_tokens=config.lengths.block_tokens,
      scale=config.model.embedder.score_scale,
      prompts=''.join(lines),
    ),
  )


def of_bert(tower: str, left_out: Sequence[str]) -> str:
  """Returns the card of a BERT without its head.

  Args:
    left_out: Names of the head's weights.
  """
  facts = 'It is the BERT alone.'
  if left_out:
    names = '\n'.join(f'- `{name}`' for name in left_out)
    facts += f' BertModel has no place for the head:\n\n{names}'
  return _CARD.substitute(
    before=_BEFORE_BERT,
    title=f'realm_tf {tower} BERT',
    summary=_SUMMARIES[tower],
    format='hugging_face',
    use=_USE_BERT,
    facts=facts,
  )
