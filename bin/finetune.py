r"""Fine-tunes a pre-trained model on questions with answers.

python -m bin.finetune --config=launch/quickstart.py \
    --corpus_dir=runs/corpus --questions=runs/world/train_questions.jsonl \
    --run_dir=runs/qa --init_from=runs/realm
"""

from bin import launcher
from bin import question_flags

from absl import flags

from realm_tf.evaluation import bm25
from realm_tf.training import finetuning_run
from realm_tf.training import runs

_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus, from bin.make_blocks.', required=True
)
_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'New directory for the model.', required=True
)
_INIT_FROM = flags.DEFINE_string(
  'init_from', None, 'Model directory to start from.'
)
_RETRIEVER = flags.DEFINE_enum(
  'retriever', 'model', ['model', 'bm25'], 'What finds the blocks.'
)


def main(_):
  questions = question_flags.read()
  inputs = runs.open_inputs(launcher.load_config(), _CORPUS_DIR.value)
  search = None
  if _RETRIEVER.value == 'bm25':
    search = bm25.fixed_search(
      inputs.table,
      [question.question for question in questions if not question.regex],
      inputs.config.finetuning.num_searched,
    )
  finetuning_run.run(
    inputs, questions, _RUN_DIR.value, _INIT_FROM.value, search
  )


if __name__ == '__main__':
  launcher.run(main)
