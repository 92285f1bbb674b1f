"""The ICT warm start as a job: corpus -> a model directory with embedders."""

from typing import Optional

from realm_tf.modeling import realm_model
from realm_tf.training import inverse_cloze_batches
from realm_tf.training import inverse_cloze_trainer
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import prefetch
from realm_tf.training import runs


def run(
  inputs: runs.Inputs, run_dir: str, init_from: Optional[str] = None
) -> None:
  """Trains both embedders by ICT and publishes them in `run_dir`."""
  runs.start(run_dir, inputs, resume=False)
  config = inputs.config
  model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
  runs.initialize(model, inputs, init_from)
  batches = inverse_cloze_batches.batches(
    inputs.table, inputs.ordinary_ids, config
  )
  trainer = inverse_cloze_trainer.InverseClozeTrainer(
    prefetch.prefetch(batches),
    optimizer_lib.create(config.inverse_cloze.optimizer),
    model,
    config.lengths,
    inputs.special_ids,
  )
  num_steps = config.inverse_cloze.optimizer.num_steps
  runs.train(trainer, run_dir, num_steps, max(1, num_steps // 20))
