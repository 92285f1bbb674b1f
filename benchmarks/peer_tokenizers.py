"""Tokenizes texts with Hugging Face's tokenizers; prints CPU seconds.

Run by benchmarks/make_blocks.py with the interpreter of benchmarks/peers.sh:

  python benchmarks/peer_tokenizers.py VOCAB_FILE TEXTS.jsonl
"""

import json
import sys
import time

import tokenizers

_BATCH = 1000


def main(vocab_file, path):
  tokenizer = tokenizers.BertWordPieceTokenizer(vocab_file, lowercase=True)
  with open(path) as file:
    texts = [json.loads(line)['text'] for line in file]
  tokenizer.encode_batch(texts[:10])
  begun = time.process_time()
  for i in range(0, len(texts), _BATCH):
    tokenizer.encode_batch(texts[i : i + _BATCH], add_special_tokens=False)
  print(json.dumps({'cpu_secs': time.process_time() - begun}))


if __name__ == '__main__':
  main(*sys.argv[1:])
