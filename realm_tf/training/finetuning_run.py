"""QA fine-tuning as a job: questions + a pre-trained model -> a QA model.

Embed_doc is frozen, only Embed_input and the reader are tuned (Section 3.3), if
the config says nothing else.
"""

from collections.abc import Callable, Sequence
import dataclasses
import functools
from typing import NamedTuple, Optional

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.records import sampling
from realm_tf.records import whole_blocks
from realm_tf.retrieval import retrieval_layer
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_batches
from realm_tf.training import finetuning_index
from realm_tf.training import finetuning_trainer
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import model_choice
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


class Options(NamedTuple):
  """What a run may do otherwise.

  Attributes:
    init_from: What to start from.
    search: Replaces the model's own search and its scores, e.g. by BM25.
    judge: Measures exact match on questions kept apart, in percent; then the
      run publishes its best parameters and not its last.
  """

  init_from: initial_params.InitFrom = initial_params.NOTHING
  search: Optional[finetuning_batches.Search] = None
  judge: Optional[Callable[[realm_model.RealmModel, storage.Index], float]] = (
    None
  )


_PLAIN = Options()


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  run_dir: str,
  options: Options = _PLAIN,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Fine-tunes and publishes the QA model in `run_dir`.

  Args:
    inputs: Of the job.
    questions: Of the training set.
    run_dir: Becomes a model directory with an index.
    options: See there.
    setup: Of this process.
  """
  config = dataclasses.replace(
    inputs.config, model=realm_model.separate_towers(inputs.config.model)
  )
  inputs = inputs._replace(config=config)
  whole_blocks.check(
    inputs.table, config.lengths, whole_blocks.of_finetuning(config)
  )
  labels = answer_labels.of_questions(questions, inputs, config.finetuning)
  share = setup.share(config.finetuning.batch_size)
  runs.start(run_dir, inputs, setup)
  with setup.scope():
    model = realm_model.RealmModel(
      config.model, [realm_model.EMBEDDER, realm_model.SPAN]
    )
    initial_params.load(model, inputs, options.init_from)
  indexes = finetuning_index.FinetuningIndex(
    inputs, model, run_dir, options.init_from.model_dir
  )
  indexes.build(0)  # Before a checkpoint is restored: of the first parameters.
  with setup.scope():
    trainer = _trainer(inputs, model)
  pace = setup_lib.Pace.of(config.finetuning)
  run_loop = loop.Loop(trainer, run_dir, pace, setup)
  choice = _choice(run_loop, run_dir, config, options, setup)
  _train(run_loop, choice, indexes, _BatchesOf(inputs, labels, options, share))
  if choice:
    choice.restore_best(model)
  indexes.finish(run_loop.step)
  if not choice:
    run_loop.publish()
  run_loop.finish()


def _choice(run_loop, run_dir, config, options, setup):
  """Returns what chooses the best parameters, if anything does."""
  if options.judge is None:
    return None
  return model_choice.ModelChoice(
    run_loop,
    run_dir,
    functools.partial(options.judge, run_loop.trainer.model),
    config.finetuning,
    setup.is_chief,
  )


class _BatchesOf(NamedTuple):
  """Makes the batches of an index, and on."""

  inputs: runs.Inputs
  labels: answer_labels.AnswerLabels
  options: Options
  share: sampling.Share

  def __call__(self, model, index, step):
    search = self.options.search
    return finetuning_batches.batches(
      self.labels,
      search or _search(self.inputs, model, index),
      None if search else index.embeddings,
      self.inputs.config,
      self.share._replace(first_step=step),
    )


def _train(run_loop, choice, indexes, batches_of):
  """Trains to the end, or until nothing gets better."""
  trainer = run_loop.trainer
  num_steps = batches_of.inputs.config.finetuning.optimizer.num_steps
  is_done = False
  while not is_done:
    index = indexes.at(min(run_loop.step, num_steps - 1))
    trainer.train_dataset = batches_of(trainer.model, index, run_loop.step)
    until = indexes.next_build(run_loop.step, num_steps)
    while True:
      # First of all, for a run may be killed between a checkpoint and this.
      is_done = choice is not None and choice.must_stop(index)
      run_loop.save()
      if is_done or run_loop.step >= until:
        break
      run_loop.train(choice.next_step(until) if choice else until)
    is_done = is_done or run_loop.step >= num_steps


def _trainer(inputs, model):
  """Returns the trainer, which has no batches yet."""
  config = inputs.config
  trainer = finetuning_trainer.FinetuningTrainer(
    None,
    optimizer_lib.create(config.finetuning.optimizer),
    model,
    config,
    inputs.special_ids,
  )
  trainer.seed_dropout(config.seed)
  return trainer


def _search(inputs, model, index):
  """Returns the search with the model's current query embedder."""
  retriever = retrieval_layer.over_model(
    model,
    index.searcher,
    inputs.config.lengths.query_tokens,
    inputs.special_ids,
  )
  return lambda rows, ids, k: retriever(ids, k)
