r"""Trains retrieval along links, after PathRetriever (Asai et al. 2020).

python -m bin.make_blocks --links=titles ...
python -m bin.train_path --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --questions=train.jsonl --init_from=runs/realm \
    --run_dir=runs/path
python -m bin.finetune --retriever=path --init_from=runs/path ...
python -m bin.evaluate --retriever=path --model_dir=runs/qa_path ...

Questions need no labelled path: training rewards all paths to a block with the
answer. The config's section is `path`.
"""

from . import launcher
from . import model_flags
from . import question_flags

from absl import flags

from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import word_search
from realm_tf.training import path_trainer

flags.mark_flags_as_required(['questions', 'init_from'])


def main(_):
  job, inputs = model_flags.begin()
  questions = question_flags.read()
  linked = linked_blocks.LinkedBlocks.over_table(inputs.table)
  words = word_search.over_table(inputs.table)
  path_trainer.run(inputs, questions, job, linked=linked, words=words)


if __name__ == '__main__':
  launcher.run(main, reads=launcher.ALL_FIELDS)
