"""QA fine-tuning as a job: questions + a pre-trained model -> a QA model.

The index is built once, from the parameters that fine-tuning starts from:
Embed_doc is frozen, only Embed_input and the reader are tuned (Section 3.3).
"""

from collections.abc import Sequence
import dataclasses
from typing import Optional

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.index import index_builder
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.modeling import realm_model
from realm_tf.records import sampling
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.training import finetuning_batches
from realm_tf.training import finetuning_trainer
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import runs


def run(
  inputs: runs.Inputs,
  questions: Sequence[questions_lib.Question],
  run_dir: str,
  init_from: Optional[str] = None,
  fixed_search: Optional[finetuning_batches.Search] = None,
) -> None:
  """Fine-tunes and publishes the QA model in `run_dir`.

  Args:
    inputs: Of the job.
    questions: Of the training set; regular expressions are not trained on.
    run_dir: Becomes a model directory with an index.
    init_from: Model directory to start from.
    fixed_search: Replaces the model's own search and its scores, e.g. by BM25.
  """
  config = dataclasses.replace(
    inputs.config, model=realm_model.separate_towers(inputs.config.model)
  )
  inputs = inputs._replace(config=config)
  tokenized = _tokenize(inputs, questions)
  runs.start(run_dir, inputs, resume=False)
  model = realm_model.RealmModel(
    config.model, [realm_model.EMBEDDER, realm_model.SPAN]
  )
  runs.initialize(model, inputs, init_from)
  index = _index(inputs, model, run_dir, init_from)
  batches = finetuning_batches.batches(
    tokenized,
    inputs.table,
    fixed_search or _search(inputs, model, index),
    None if fixed_search else index.embeddings,
    config,
  )
  trainer = finetuning_trainer.FinetuningTrainer(
    batches,
    optimizer_lib.create(config.finetuning.optimizer),
    model,
    config.finetuning,
    inputs.special_ids,
  )
  num_steps = config.finetuning.optimizer.num_steps
  runs.train(trainer, run_dir, num_steps, config.finetuning.log_every_steps)


def _search(inputs, model, index):
  """Returns the search with the model's current query embedder."""
  retriever = retriever_lib.Retriever(
    retriever_lib.query_embedding_function(
      model, inputs.config.lengths, inputs.special_ids
    ),
    index.searcher,
  )
  return lambda rows, ids, k: retriever.retrieve(ids, k)


def _tokenize(inputs, questions):
  """Returns the questions that have plain answers, as wordpieces."""
  plain = [question for question in questions if not question.regex]
  if not plain:
    raise errors.UserError(
      'Training questions must have answers that are text. Found only '
      'regular expressions. Train on another set.'
    )
  texts = [question.question for question in plain]
  ids = sampling.pad_rows(
    inputs.tokenizer.token_ids_batch(texts),
    inputs.config.lengths.question_tokens,
  )
  flat = iter(
    inputs.tokenizer.token_ids_batch(
      [answer for question in plain for answer in question.answers]
    )
  )
  answers = [[next(flat) for _ in question.answers] for question in plain]
  return finetuning_batches.TokenizedQuestions(texts, ids, answers)


def _index(inputs, model, run_dir, init_from):
  """Publishes the index of the initial parameters and loads it."""
  builder = index_builder.IndexBuilder(
    inputs.table, inputs.config, inputs.special_ids, model
  )
  base = init_from and model_directory.open_directory(init_from).index
  job = version_work.ALONE
  if base and builder.can_reuse(base.path):
    job = job._replace(base=base.path)
  version = builder.build(0, layout.index_root(run_dir), job)
  return storage.load(version.path, builder.corpus_fingerprint)
