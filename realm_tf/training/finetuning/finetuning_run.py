"""Fine-tunes for QA: questions + a pre-trained model -> a QA model.

By default only Embed_input and the reader learn (Section 3.3).
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
from typing import Optional

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import storage
from realm_tf.modeling import path_scorer
from realm_tf.modeling import realm_model
from realm_tf.records import whole_blocks
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_index
from realm_tf.training import job as job_lib
from realm_tf.training import loop
from realm_tf.training import runs
from realm_tf.training.finetuning import finetuning_batches
from realm_tf.training.finetuning import finetuning_trainer
from realm_tf.training.finetuning import model_choice

# (model, index) -> exact match in percent.
ExactMatch = Callable[[realm_model.RealmModel, storage.Index], float]


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  retriever: Optional[retriever_lib.Retriever] = None,
  exact_match: Optional[ExactMatch] = None,
) -> None:
  """Fine-tunes and publishes the QA model, with an index.

  Args:
    retriever: Replaces the model's own search and scores, e.g. by BM25.
    exact_match: Measures the model on development questions. With it, the run
      publishes the best parameters; without it, the last.
  """
  config = dataclasses.replace(
    inputs.config, model=realm_model.separate_towers(inputs.config.model)
  )
  inputs = inputs._replace(config=config)
  job.share(config.finetuning.batch_size)  # Checked before the run begins.
  whole_blocks.check(
    inputs.table, config.lengths, whole_blocks.of_finetuning(config)
  )
  labels = answer_labels.of_questions(questions, inputs, config.finetuning)
  model = job.create_model(
    inputs,
    [realm_model.EMBEDDER, realm_model.SPAN],
    keep=(path_scorer.PREFIX,) if retriever else (),  # For a path retriever.
  )
  indexes = finetuning_index.FinetuningIndex(
    inputs, model, job.run_dir, init_from=job.init_from.model_dir
  )
  indexes.build(0)  # The first parameters: no checkpoint is read yet.
  run_loop = loop.Loop(
    job,
    config.finetuning,
    config.seed,
    lambda optimizer: finetuning_trainer.FinetuningTrainer(
      optimizer, model, config, special_ids=inputs.special_ids
    ),
  )
  batches_of = _batches_of(labels, inputs, run_loop, retriever)
  choice = None
  if exact_match:
    measure = functools.partial(exact_match, model)
    choice = model_choice.ModelChoice(
      run_loop, job, measure, config=config.finetuning
    )
  _train(run_loop, choice, indexes, batches_of)


def _train(
  run_loop: loop.Loop,
  choice: Optional[model_choice.ModelChoice],
  indexes: finetuning_index.FinetuningIndex,
  batches_of: Callable[[storage.Index], Iterator[finetuning_batches.Batch]],
) -> None:
  """Trains to the end or an early stop; publishes parameters and index."""
  is_over = False
  while not is_over:
    index = indexes.at(min(run_loop.step, run_loop.num_steps - 1))
    batches = batches_of(index)
    until = indexes.next_build(run_loop.step, run_loop.num_steps)
    while True:
      # First: a resumed run may lack the measurement of its checkpoint.
      if choice:
        choice.measure_if_due(index)
        is_over = choice.is_over
      run_loop.save()
      if is_over or run_loop.step >= until:
        break
      run_loop.train(choice.next_step(until) if choice else until, batches)
    is_over = is_over or run_loop.step >= run_loop.num_steps
  if choice:
    choice.restore_best(run_loop.trainer.model)
  indexes.finish(run_loop.step)
  if not choice:
    run_loop.publish()
  run_loop.finish()


def _batches_of(
  labels: answer_labels.AnswerLabels,
  inputs: runs.Inputs,
  run_loop: loop.Loop,
  retriever: Optional[retriever_lib.Retriever],
) -> Callable[[storage.Index], Iterator[finetuning_batches.Batch]]:
  """Returns a function from an index to batches.

  Each batch searches the index with the current query embedder. A `retriever`
  does not learn, so it searches once here for all questions.
  """
  config = inputs.config
  if retriever:
    retriever = retriever_lib.Kept(retriever)
    queries = labels.questions.queries()
    retriever.retrieve(queries, config.finetuning.num_searched)

  def batches_of(index: storage.Index) -> Iterator[finetuning_batches.Batch]:
    found_by = retriever or retrievers.over_model(
      run_loop.trainer.model,
      index.searcher,
      config.lengths.query_tokens,
      inputs.special_ids,
    )
    return finetuning_batches.batches(
      labels,
      found_by,
      None if retriever else index.embeddings,
      experiment=config,
      share=run_loop.share,
    )

  return batches_of
