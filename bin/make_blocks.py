r"""Cuts articles into blocks and writes a corpus directory.

  python -m bin.make_blocks --input='wiki/*.jsonl.gz' \
      --vocab_file=vocab.txt --output_dir=/tmp/corpus
  python -m bin.make_blocks --append=/tmp/corpus --input=new.jsonl \
      --remove=17,old-article --output_dir=/tmp/newer_corpus

A vocabulary is learned from all articles, which are then read twice. --runner
cuts the same blocks on many machines, with Apache Beam.
"""

import itertools

from . import article_flags
from . import beam_flags
from . import launcher

from absl import flags

from realm_tf import errors
from realm_tf.config import names
from realm_tf.corpus import records
from realm_tf.data import corpus_files
from realm_tf.data import link_graph
from realm_tf.text import vocabulary
from realm_tf.text import wordpiece

article_flags.define_format()
_MAX_BLOCK_WORDPIECES = flags.DEFINE_integer(
  'max_block_wordpieces', 288, 'Most wordpieces per block: title + body + 3.', 8
)
_VOCAB_FILE = launcher.existing_path(
  'vocab_file', 'vocab.txt or tokenizer.json; by default one is learned.'
)
_VOCAB_SIZE = flags.DEFINE_integer(
  'vocab_size', 8000, 'Most wordpieces to learn.', 100
)
_VOCAB_TEXT = launcher.existing_path(
  'vocab_text', 'JSONL file; its "text" has words to learn, too', many=True
)
_APPEND = launcher.existing_path(
  'append', 'Corpus directory to extend, as a new one in --output_dir.'
)
_REMOVE = flags.DEFINE_multi_string(
  'remove', [], 'Comma-separated ids of articles in --append to leave out'
)
_LINKS = flags.DEFINE_enum(
  'links', 'none', ['none', *names.LINKS], 'Links between articles to store.'
)
launcher.check_flags(
  lambda input, append, remove: input or (append and remove),
  '--input must be given, or --append with articles to --remove.',
)
launcher.check_flags(
  lambda append, remove: append or not remove, '--remove needs --append.'
)
launcher.check_flags(
  lambda append, links, vocab_file: (
    not append or (links == 'none' and not vocab_file)
  ),
  "--append keeps the corpus's vocabulary and kind of links: leave out "
  '--vocab_file and --links.',
)


def _tokenizer():
  """Returns the tokenizer of --vocab_file, or of a learned vocabulary."""
  if _VOCAB_FILE.value:
    return wordpiece.WordpieceTokenizer.from_file(_VOCAB_FILE.value)
  articles = article_flags.read('Learning wordpieces')
  texts = itertools.chain(
    (text for a in articles for text in (a.title, a.text)),
    records.read_texts(article_flags.split(_VOCAB_TEXT.value or [])),
  )
  return wordpiece.WordpieceTokenizer(
    vocabulary.learn_vocabulary(texts, _VOCAB_SIZE.value)
  )


def _cut(tokenizer, length, counts, links, update=None):
  if not article_flags.INPUT.value:
    return iter([])
  if not beam_flags.is_local():
    if links and links.kind == names.MARKUP:
      raise errors.UserError(
        'Links of the source must be read in one process. Found --runner. '
        'Leave out --runner, or use a corpus with --links=titles.'
      )
    first_number = update.num_articles if update else 0
    return article_flags.on_beam(
      'cut', (tokenizer, length), counts, first_number
    )
  articles = article_flags.read('Cutting', counts, update=update)
  if links:
    articles = links.noting(articles)
    counts.on_redirect = links.add_redirect
  return corpus_files.cut(
    articles, tokenizer, length, article_flags.NUM_WORKERS.value
  )


def _write(output, source, counts):
  if _APPEND.value:
    update = corpus_files.CorpusUpdate(_APPEND.value, _REMOVE.value)
    length = update.manifest['max_block_wordpieces']
    batches = _cut(update.tokenizer, length, counts, update.links, update)
    return update.write(batches, output, source=source, counts=counts)
  length, tokenizer = _MAX_BLOCK_WORDPIECES.value, _tokenizer()
  links = None
  if _LINKS.value != 'none':
    links = link_graph.CorpusLinks(_LINKS.value)
  batches = _cut(tokenizer, length, counts, links)
  return corpus_files.write(
    corpus_files.without_duplicates(batches, counts),
    output,
    tokenizer,
    source=source,
    max_block_wordpieces=length,
    links=links,
  )


def main(_):
  output_dir, counts = article_flags.begin()
  manifest = _write(output_dir, article_flags.description(counts), counts)
  print(
    f'Wrote {manifest["num_blocks"]} blocks to {output_dir}.{counts.summary()}'
  )


if __name__ == '__main__':
  launcher.run(main)
