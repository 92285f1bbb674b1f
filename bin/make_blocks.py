r"""Cuts articles into blocks and writes a corpus directory.

  python -m bin.make_blocks --input='wiki/*.jsonl.gz' \
      --vocab_file=vocab.txt --output_dir=/tmp/corpus
  python -m bin.make_blocks --append=/tmp/corpus --input=new.jsonl \
      --remove=17,old-article --output_dir=/tmp/newer_corpus

--input=world writes the demonstration corpus. Without --vocab_file a vocabulary
is learned from the articles, which are then read twice. If queries come from
another text, give it as --vocab_text: it has words that no article has.
--runner cuts on many machines, with Apache Beam; the blocks are the same.
--links keeps what articles link to; --append goes on as the corpus began.
"""

from typing import Any

from . import article_flags
from . import beam_articles
from . import beam_flags
from . import launcher
from . import new_corpus_flags
from . import output_flags

from absl import flags

from realm_tf.records import corpus_building
from realm_tf.records import corpus_files

_FORMAT = article_flags.define_format()
_MAX_BLOCK_WORDPIECES = flags.DEFINE_integer(
  'max_block_wordpieces', 288, 'Longest block: 3 + title + body.', 8
)


def _cut(output_dir, tokenizer, length, counts, links, update=None):
  """Returns the blocks of --input."""
  if not article_flags.INPUT.value:
    return iter([])
  if not beam_flags.is_local():
    new_corpus_flags.need_no_markup(links)
    cutter = (tokenizer, length)
    first_number = update.num_articles if update else 0
    return beam_articles.cut(
      cutter, _FORMAT.value, output_dir, counts, first_number
    )
  articles = article_flags.read(
    'Cutting', _FORMAT.value, counts, plain=False, update=update
  )
  if links:
    articles = links.noting(articles)
    counts.on_redirect = links.named.add_redirect
  return corpus_building.build(
    articles, tokenizer, length, counts, article_flags.NUM_WORKERS.value
  )


def _write(output, source, counts) -> dict[str, Any]:
  if update := new_corpus_flags.update():
    length = update.manifest['max_block_wordpieces']
    batches = _cut(
      output, update.tokenizer, length, counts, update.links, update
    )
    return update.write(batches, output, source=source, counts=counts)
  length = _MAX_BLOCK_WORDPIECES.value
  tokenizer = new_corpus_flags.tokenizer(_FORMAT.value)
  links = new_corpus_flags.links()
  batches = _cut(output, tokenizer, length, counts, links)
  return corpus_files.write(
    batches,
    output,
    tokenizer,
    source=source,
    max_block_wordpieces=length,
    links=links,
  )


def main(_):
  output_dir = output_flags.new_directory()
  counts = article_flags.new_counts()
  source = {'format': _FORMAT.value, **article_flags.description(counts)}
  manifest = _write(output_dir, source, counts)
  print(
    f'Wrote {manifest["num_blocks"]} blocks to {output_dir}.{counts.summary()}'
  )


if __name__ == '__main__':
  launcher.run(main)
