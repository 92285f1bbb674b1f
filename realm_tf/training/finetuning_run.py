"""Fine-tunes for QA: questions + a pre-trained model -> a QA model.

By default Embed_doc is frozen: only Embed_input and the reader are trained
(Section 3.3).
"""

from collections.abc import Callable, Sequence
import dataclasses
import functools
from typing import NamedTuple, Optional

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.records import whole_blocks
from realm_tf.retrieval import retrieval_layer
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_batches
from realm_tf.training import finetuning_index
from realm_tf.training import finetuning_trainer
from realm_tf.training import initial_params
from realm_tf.training import loop
from realm_tf.training import model_choice
from realm_tf.training import params_export
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib


class Options(NamedTuple):
  """Departures from a plain run.

  Attributes:
    init_from: Model directories to start from.
    search: Replaces the model's own search and scores, e.g. by BM25.
    exact_match: Measures exact match on development questions, in percent; with
      it, the run publishes its best parameters instead of its last.
  """

  init_from: initial_params.InitFrom = initial_params.NOTHING
  search: Optional[finetuning_batches.Search] = None
  exact_match: Optional[
    Callable[[realm_model.RealmModel, storage.Index], float]
  ] = None


_PLAIN = Options()


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  run_dir: str,
  options: Options = _PLAIN,
  setup: setup_lib.Setup = setup_lib.ALONE,
) -> None:
  """Fine-tunes and publishes the QA model in `run_dir`, with an index."""
  config, job = inputs.config, inputs.config.finetuning
  config = dataclasses.replace(
    config, model=realm_model.separate_towers(config.model)
  )
  inputs = inputs._replace(config=config)
  whole_blocks.check(
    inputs.table, config.lengths, whole_blocks.of_finetuning(config)
  )
  labels = answer_labels.of_questions(questions, inputs, job)
  share = setup.share(job.batch_size)
  runs.start(run_dir, inputs, setup)
  model = _model(inputs, run_dir, options, setup)
  indexes = finetuning_index.FinetuningIndex(
    inputs, model, run_dir, options.init_from.model_dir
  )
  indexes.build(0)  # With the first parameters: a checkpoint is not read yet.
  run_loop = loop.create(
    lambda optimizer: finetuning_trainer.FinetuningTrainer(
      None, optimizer, model, config, inputs.special_ids
    ),
    config.seed,
    run_dir,
    job,
    setup,
  )
  choice = _choice(run_loop, run_dir, options, job, setup)

  def batches_of(index):
    search = options.search or _search(inputs, model, index)
    return finetuning_batches.batches(
      labels,
      search,
      None if options.search else index.embeddings,
      config,
      share._replace(first_step=run_loop.step),
    )

  _train(run_loop, choice, indexes, batches_of, job.optimizer.num_steps)


def _model(inputs, run_dir, options, setup):
  """Returns the model; publishes the scorer of the paths it searches."""
  model, left_over = initial_params.create_model(
    inputs, [realm_model.EMBEDDER, realm_model.SPAN], options.init_from, setup
  )
  if options.search and setup.is_chief:
    params_export.keep_paths(run_dir, left_over)
  return model


def _choice(run_loop, run_dir, options, job, setup):
  """Returns what chooses the best parameters; None without a measure."""
  if options.exact_match is None:
    return None
  exact_match = functools.partial(options.exact_match, run_loop.trainer.model)
  return model_choice.ModelChoice(
    run_loop, run_dir, exact_match, job, setup.is_chief
  )


def _train(run_loop, choice, indexes, batches_of, num_steps):
  """Trains to the end or an early stop; publishes parameters and index."""
  is_done = False
  while not is_done:
    index = indexes.at(min(run_loop.step, num_steps - 1))
    run_loop.trainer.train_dataset = batches_of(index)
    until = indexes.next_build(run_loop.step, num_steps)
    while True:
      # Measured first: a run may be killed between its checkpoint and this.
      is_done = choice is not None and choice.must_stop(index)
      run_loop.save()
      if is_done or run_loop.step >= until:
        break
      run_loop.train(choice.next_step(until) if choice else until)
    is_done = is_done or run_loop.step >= num_steps
  if choice:
    choice.restore_best(run_loop.trainer.model)
  indexes.finish(run_loop.step)
  if not choice:
    run_loop.publish()
  run_loop.finish()


def _search(inputs, model, index):
  """Returns a search with the model's current query embedder."""
  retriever = retrieval_layer.over_model(
    model,
    index.searcher,
    inputs.config.lengths.query_tokens,
    inputs.special_ids,
  )
  return lambda rows, ids, k: retriever(ids, k)
