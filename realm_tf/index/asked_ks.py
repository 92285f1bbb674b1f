"""How many blocks the jobs ask an index for: what its search is tuned for."""

from realm_tf import config as config_lib

# Those that an answer is weighed against, `answering.answerer.NUM_COMPARED`,
# and those that `training.question_pairs` looks for wrong ones among.
_COMPARED = 100
_SHOWN = 10  # Those of the results that people look at.
_FIRST_ASKED_FOR = 2  # Times k: `retrieval.overlay.FIRST_ASKED_FOR`.


def of(config: config_lib.ExperimentConfig, num_blocks: int) -> list[int]:
  """Returns every k that a search may be asked for, ascending.

  Args:
    config: Of the jobs.
    num_blocks: N, at least one; none asks for more.
  """
  pretraining = config.pretraining
  candidates = max(pretraining.num_candidates, pretraining.over_retrieval)
  if pretraining.write_through_blocks:
    candidates *= _FIRST_ASKED_FOR
  asked = (_SHOWN, _COMPARED, candidates, config.finetuning.num_searched)
  return sorted({min(k, num_blocks) for k in asked})
