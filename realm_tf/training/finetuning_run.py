"""Fine-tunes for QA: questions + a pre-trained model -> a QA model.

Embed_input and the reader learn (Section 3.3).
"""

from collections.abc import Callable, Iterator, Sequence
import functools
import itertools
from typing import Any, Optional, cast

from absl import logging

from realm_tf import interfaces
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import whole_blocks
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import path_scorer
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.retrieval import device_retriever
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.run import metrics_log
from realm_tf.run import versions
from realm_tf.training import answer_labels
from realm_tf.training import finetuning_trainer
from realm_tf.training import job as job_lib
from realm_tf.training import loop

_PARTS = realm_model.EMBEDDER, realm_model.SPAN
# (model, index, None for another search) -> exact match in percent.
ExactMatch = Callable[[realm_model.RealmModel, Optional[storage.Index]], float]


def run(
  inputs: job_lib.Inputs,
  questions: Sequence[questions_lib.Question],
  job: job_lib.Job,
  *,
  retriever: Optional[interfaces.Retriever] = None,
  exact_match: Optional[ExactMatch] = None,
) -> None:
  """Fine-tunes and publishes the QA model, with the index that it searches.

  Args:
    retriever: Replaces the model's own search and scores, e.g. by BM25. Then
      no index is made, unless `job.init_from` has one to reuse.
    exact_match: Measures the model on development questions. With it, the run
      publishes the best parameters; without it, the last.
  """
  towers = realm_model.separate_towers(inputs.config.model)
  inputs = inputs.changed(model=towers)
  config, own = inputs.config, inputs.config.finetuning
  job.share(own.batch_size)  # Checked before the run begins.
  whole_blocks.check(
    inputs.table, config.lengths, whole_blocks.of_finetuning(config)
  )
  labels = answer_labels.of_questions(questions, inputs, own)
  keep = (path_scorer.PREFIX,) if retriever else ()  # For a path retriever.
  judged = getattr(exact_match, 'questions', None)
  data = {'questions': (questions, judged), '--retriever': type(retriever)}
  model = job.create_model(inputs, _PARTS, data, keep=keep)
  index = build_index(inputs, model, job, is_searched=not retriever)
  run_loop = loop.Loop(
    job,
    own,
    config.seed,
    lambda optimizer: finetuning_trainer.FinetuningTrainer(
      optimizer, model, config, special_ids=inputs.special_ids
    ),
  )
  batches = _batches(labels, inputs, job, run_loop, index, retriever)
  if not exact_match:
    run_loop.run(batches)
    return
  judge = functools.partial(exact_match, model, index)
  train_judged(run_loop, job, judge, own.judge_every_steps, batches)
  run_loop.finish()


def build_index(
  inputs: job_lib.Inputs,
  model: realm_model.RealmModel,
  job: job_lib.Job,
  is_searched: bool = True,
) -> Optional[storage.Index]:
  """Returns the index of the first parameters, which serves the whole run.

  Embed_doc is frozen (Guu et al. 2020, Section 3.3). To be called before a
  checkpoint is read. Reuses embeddings of the index of `job.init_from`. An
  index that is not searched is only kept: without one to reuse, there is none.
  """
  init_from = job.init_from.model_dir
  base = init_from and model_files.open_model(init_from).newest_index
  if not base and not is_searched:
    return None
  builder = index_builder.IndexBuilder(
    inputs.table,
    inputs.config,
    inputs.special_ids,
    inputs.tokenizer.mask_id,
    model,
    job.strategy if strategies.num_workers(job.strategy) == 1 else None,
  )
  root = layout.index_root(job.run_dir)
  builder.build(0, root, base=base.path if base else None, fits=False)
  path = versions.version_path(root, 0)
  return storage.load(path, builder.corpus_fingerprint)


def _batches(
  labels: answer_labels.AnswerLabels,
  inputs: job_lib.Inputs,
  job: job_lib.Job,
  run_loop: loop.Loop,
  index: Optional[storage.Index],
  retriever: Optional[interfaces.Retriever],
) -> Iterator[dict[str, Any]]:
  """Yields batches found by `retriever`, or by the current query embedder."""
  config, model = inputs.config, run_loop.trainer.model
  embeddings = None
  if retriever:
    retriever = labels.questions.search_once(
      retriever, config.finetuning.num_searched
    )
  elif index and device_retriever.is_used(job.strategy):
    embeddings = index.embeddings
    retriever = device_retriever.DeviceRetriever(
      job.strategy, config, inputs.special_ids, inputs.table.num_blocks, model
    )
    retriever.load_blocks(embeddings, index.searcher)
  elif index:
    embeddings = index.embeddings
    retriever = retrievers.over_model(
      model, index.searcher, config.lengths.query_tokens, inputs.special_ids
    )
  return finetuning_trainer.batches(
    labels,
    cast(interfaces.Retriever, retriever),
    embeddings,
    experiment=config,
    share=run_loop.share,
  )


def train_judged(
  run_loop: loop.Loop,
  job: job_lib.Job,
  judge: Callable[[], float],
  every: int,
  batches: Iterator[dict[str, Any]],
) -> None:
  """Trains, and publishes parameters that `judge` scores higher than others.

  It is called every `every` steps, and after the last. A resumed run reads the
  earlier scores from their log.
  """
  log = layout.dev_metrics_file(job.run_dir)
  if job.is_chief:
    metrics_log.cut(log, run_loop.step)
  scores = {
    step: score
    for step, score in metrics_log.values(log, 'exact_match').items()
    if step <= run_loop.step
  }
  # A resumed run may lack the score of its checkpoint.
  steps = itertools.chain([run_loop.step], run_loop.periods(every, batches))
  for step in steps:
    is_due = step and (step % every == 0 or step == run_loop.num_steps)
    if is_due and step not in scores:
      # The log's number of digits: a resumed run compares the same scores.
      score = round(judge(), 6)
      logging.info('Exact match at step %d: %.2f.', step, score)
      if score > max(scores.values(), default=-1.0):
        run_loop.publish()
        if job.is_chief:
          versions.prune(layout.params_root(job.run_dir), 1)
      scores[step] = score
      if job.is_chief:
        metrics_log.append(log, step, {'exact_match': score})
    run_loop.save()
