"""Writes the README.md of exported encoders from one template."""

from collections.abc import Mapping, Sequence
import string

from realm_tf import config as config_lib

_CARD = string.Template("""\
$before# $title

$summary
REALM: Guu et al., 2020 (arXiv 2002.08909), Section 3.2. `bin.export
--format=$format` of realm_tf wrote this directory, which needs none of its
code.

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
_BERT = """\
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(DIR)
model = AutoModel.from_pretrained(DIR)"""
_SENTENCES = """\
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(DIR)
queries = model.encode_query(['who wrote the opera Fidelio'])
blocks = model.encode_document([('Fidelio', 'An opera by Beethoven.')])
scores = model.similarity(queries, blocks)"""
_SENTENCES_TAGS = """
pipeline_tag: sentence-similarity
tags:
- sentence-transformers
- feature-extraction"""
_HUB = """\
import tensorflow_hub as hub
import tensorflow_text  # Registers the ops that cut text into wordpieces.

module = hub.load(DIR)
outputs = module({})"""
_HUB_FACTS = """\
The inner product of both embedders of one model is the retrieval score f(x,z).
Calls take strings, cut to {limit} wordpieces, or packed wordpieces, int32
[texts, wordpieces] each: `input_word_ids`, `input_mask` (1 = a wordpiece) and
`input_type_ids` (1 = the second text), of [CLS] first [SEP] second [SEP]. The
vocabulary is `module.vocab_file`. `hub.KerasLayer(DIR, trainable=True)`
fine-tunes the module.

| signature | inputs | outputs |
|---|---|---|
{signatures}

Origin: {origin}"""


def of_module(
  name: str,
  example: str,
  limit: int,
  signatures: Sequence[tuple[str, str, str]],
  origin: str,
) -> str:
  """Returns the card of a TF Hub module.

  Args:
    name: 'query_embedder', 'block_embedder' or 'knowledge_encoder'.
    example: Python code of an input.
    limit: Wordpieces of the longest input.
    signatures: Name, inputs and outputs of each signature.
    origin: The model's origin.
  """
  tower = name.partition('_')[0]
  return _CARD.substitute(
    before='',
    title=f'Module realm_tf/{name}/1',
    summary=_SUMMARIES.get(tower, _SUMMARIES['reader']),
    format='hub',
    use=_HUB.format(example),
    facts=_HUB_FACTS.format(
      limit=limit,
      signatures='\n'.join(f'| {" | ".join(row)} |' for row in signatures),
      origin=origin,
    ),
  )


def of_sentences(
  tower: str, config: config_lib.ExperimentConfig, prompts: Mapping[str, str]
) -> str:
  """Returns the card of a directory for sentence-transformers."""
  lengths = config.lengths
  facts = [
    'A block is a pair of title and text. realm_tf embeds at most '
    f'{lengths.query_tokens} wordpieces of a query and {lengths.block_tokens} '
    'of a block. Its score f(x,z) is '
    f'{config.model.embedder.score_scale:g} times the inner product, before '
    'its temperature.'
  ]
  facts += [
    f'Each {name} gets the prompt `{p}`.' for name, p in prompts.items()
  ]
  return _CARD.substitute(
    before=_front_matter(f'sentence-transformers{_SENTENCES_TAGS}'),
    title=f'realm_tf {tower} embedder',
    summary=_SUMMARIES[tower],
    format='hugging_face',
    use=_SENTENCES,
    facts='\n\n'.join(facts),
  )


def of_bert(tower: str, left_out: Sequence[str]) -> str:
  """Returns the card of a BERT, with a list of omitted weights."""
  facts = 'It is the BERT alone.'
  if left_out:
    names = '\n'.join(f'- `{name}`' for name in left_out)
    facts += f' BertModel has no place for the head:\n\n{names}'
  return _CARD.substitute(
    before=_front_matter('transformers'),
    title=f'realm_tf {tower} BERT',
    summary=_SUMMARIES[tower],
    format='hugging_face',
    use=_BERT,
    facts=facts,
  )


def _front_matter(library: str) -> str:
  return f'---\nlibrary_name: {library}\n---\n\n'
