"""Writes the README.md of a Hugging Face directory: what it computes."""

from collections.abc import Sequence

from realm_tf import config as config_lib

_SENTENCES = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- feature-extraction
---

# {title}

{what} Written by `bin.export --format=hugging_face` of realm_tf.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(DIR)
queries = model.encode_query(['who wrote the opera Fidelio'])
blocks = model.encode_document([('Fidelio', 'An opera by Beethoven.')])
scores = model.similarity(queries, blocks)
```

A block is a pair of title and text. realm_tf embeds at most {query_tokens}
wordpieces of a query and {block_tokens} of a block, [CLS] and [SEP] included.
Its score f(x,z) is {scale:g} times the inner product, before its temperature.
{prompts}"""

_BERT = """---
library_name: transformers
---

# {title}

{what} Written by `bin.export --format=hugging_face` of realm_tf.

```python
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(DIR)
model = AutoModel.from_pretrained(DIR)
```

It is the BERT alone.
{left_out}"""

_WHAT = {
  'query': 'Embeds queries for retrieval (REALM, Guu et al. 2020).',
  'block': 'Embeds blocks for retrieval (REALM, Guu et al. 2020).',
  'reader': 'Reads a query together with a block (REALM, Guu et al. 2020).',
}


def of_sentences(
  tower: str, config: config_lib.ExperimentConfig, prompts: dict[str, str]
) -> str:
  """Returns the card of a directory that sentence-transformers opens."""
  lines = [
    f'Before each {name} stands `{text}`.' for name, text in prompts.items()
  ]
  return _SENTENCES.format(
    title=f'realm_tf {tower} embedder',
    what=_WHAT[tower],
    query_tokens=config.lengths.query_tokens,
    block_tokens=config.lengths.block_tokens,
    scale=config.model.embedder.score_scale,
    prompts=''.join(f'{line}\n' for line in lines),
  )


def of_bert(tower: str, left_out: Sequence[str]) -> str:
  """Returns the card of a BERT whose head had to be left out."""
  names = ''.join(f'\n- `{name}`' for name in left_out)
  return _BERT.format(
    title=f'realm_tf {tower} BERT',
    what=_WHAT[tower],
    left_out=f'BertModel has no place for the head:\n{names}\n'
    if names
    else '',
  )
