"""Names of metrics -> panels of related metrics, with explanations.

An unknown metric gets a panel at the end. A metric 'a/b', such as
`gradient_norm/query`, is drawn in the panel of 'a'.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple


class Panel(NamedTuple):
  """Axes with the curves of metrics of one unit.

  Attributes:
    about: Meaning of the metrics.
    metrics: Name in metrics.jsonl -> label; '' if the title is enough.
    may_be_log: Whether outliers make the axis logarithmic.
  """

  title: str
  about: str
  unit: str
  metrics: dict[str, str]
  from_zero: bool = True
  may_be_log: bool = False


_GROUPS = {
  'Learning': (
    Panel(
      'Loss',
      'The quantity that the optimizer lowers, as a mean over the examples.',
      'nats',
      {'loss': ''},
      from_zero=False,
    ),
    Panel(
      'Log-likelihood',
      'log p(y|x) of the masked words (Eq. 1) or, in the Inverse Cloze Task, '
      'of the right block.',
      'nats',
      {'log_likelihood': ''},
      from_zero=False,
    ),
    Panel(
      'Log-likelihood of answers',
      'Retrieval: of choosing a block that holds the answer. Reading: of the '
      'answer’s spans in the blocks that are read.',
      'nats',
      {
        'early_update_log_likelihood': 'retrieval',
        'span_log_likelihood': 'reading',
      },
      from_zero=False,
    ),
    Panel(
      'Accuracy',
      'How often the best guess is right: the block of a sentence in the '
      'Inverse Cloze Task (0 to 1), a word’s label for a tagger (in %).',
      'share, or %',
      {'accuracy': ''},
    ),
    Panel(
      'Exact match',
      'Questions of the training batches whose best span is the answer.',
      '% of questions',
      {'exact_match': ''},
    ),
  ),
  'Retrieval': (
    Panel(
      'Retrieval utility',
      'Gain in log-likelihood over the null block (Appendix D): all '
      'candidates together, and the mean over them by p(z|x). Below 0, '
      'retrieval does harm.',
      'nats',
      {
        'marginal_retrieval_utility': 'all together',
        'block_retrieval_utility': 'mean of the blocks',
      },
      from_zero=False,
    ),
    Panel(
      'p(null|x)',
      'The null block’s probability. Near 1, the retriever has given up.',
      'probability',
      {'p_null': ''},
    ),
    Panel(
      'Entropy of p(z|x)',
      '0 if one block has all probability, log K if all K have the same.',
      'nats',
      {'entropy': ''},
    ),
    Panel(
      'Rank of the most helpful block',
      'Rank by p(z|x) of the block that makes y most likely; 1 is best.',
      'rank',
      {'rank_of_most_helpful_block': ''},
      from_zero=False,
    ),
    Panel(
      'Questions with the answer in a block',
      'An upper bound of exact match.',
      '% of questions',
      {
        'answer_in_read_blocks': 'of those read',
        'answer_in_searched_blocks': 'of those searched',
      },
    ),
  ),
  'Held-out articles': (
    Panel(
      'Held-out log-likelihood and utility',
      'log p(y|x) of masked sentences that are never trained on, and what '
      'retrieval adds to log p(y|null).',
      'nats',
      {
        'held_out_log_likelihood': 'log-likelihood',
        'held_out_utility': 'utility',
      },
      from_zero=False,
    ),
    Panel(
      'Held-out p(null|x)',
      'The null block’s mean probability.',
      'probability',
      {'held_out_p_null': ''},
    ),
    Panel(
      'Held-out recall',
      'Queries whose first blocks, without their own, hold the span.',
      'share of queries',
      {
        'held_out_recall@1': 'first block',
        'held_out_recall@5': 'first 5',
        'held_out_recall@20': 'first 20',
      },
    ),
  ),
  'Optimization': (
    Panel(
      'Gradient norm',
      'Norm before clipping, of all variables and of each tower.',
      'norm',
      {'gradient_norm': 'all variables'},
      may_be_log=True,
    ),
    Panel(
      'Learning rate', 'Warm-up, then decay.', 'rate', {'learning_rate': ''}
    ),
    Panel(
      'Skipped steps',
      'Steps without an update, because loss or gradient was not finite.',
      'steps',
      {'skipped_steps': 'in all', 'skipped_in_a_row': 'in a row'},
    ),
  ),
  'Speed and index': (
    Panel(
      'Examples per second',
      'Rate of training, waiting for batches included.',
      'examples / s',
      {'examples_per_second': ''},
    ),
    Panel(
      'Share of time waiting',
      'Waiting for retrieval and input, which training does not hide.',
      'share of time',
      {'share_of_time_waiting': ''},
    ),
    Panel(
      'Traces of the step',
      'TensorFlow traces each new shape, in seconds; after the first steps '
      'this should be a flat line.',
      'traces',
      {'num_traces': ''},
    ),
    Panel(
      'Index age in steps',
      'Steps since the parameters that the index was built from.',
      'steps',
      {'index_age_steps': 'mean', 'index_age_steps_max': 'highest'},
    ),
    Panel(
      'Index age in seconds',
      'Seconds since these parameters were published.',
      'seconds',
      {'index_age_seconds': 'mean', 'index_age_seconds_max': 'highest'},
    ),
  ),
}


def arrange(
  names: Collection[str], one_metric_each: bool
) -> dict[str, list[Panel]]:
  """Returns headings -> panels of the logged metrics."""
  left = list(names)
  groups = {}
  for title, panels in _GROUPS.items():
    groups[title] = []
    for panel in panels:
      metrics = dict(_present(panel, left))
      left = [name for name in left if name not in metrics]
      if metrics:
        groups[title].append(panel._replace(metrics=metrics))
  groups['Other'] = [_unknown(name) for name in left]
  if one_metric_each:
    groups = {title: [*_split(panels)] for title, panels in groups.items()}
  return {title: panels for title, panels in groups.items() if panels}


def label(name: str) -> str:
  """Returns the title of a metric's own panel."""
  ((panel,),) = arrange([name], one_metric_each=True).values()
  return panel.title


def _present(panel: Panel, names: Collection[str]) -> Iterator[tuple[str, str]]:
  """Yields (metric, label) of the panel's metrics among `names`."""
  for metric, text in panel.metrics.items():
    if metric in names:
      yield metric, text
    for name in names:
      if name.startswith(f'{metric}/'):
        yield name, name.removeprefix(f'{metric}/')


def _unknown(name: str) -> Panel:
  return Panel(name.replace('_', ' '), '', 'value', {name: ''}, False)


def _split(panels: Collection[Panel]) -> Iterator[Panel]:
  """Yields a panel for each metric, with the metric in the title."""
  for panel in panels:
    for name, text in panel.metrics.items():
      title = f'{panel.title}: {text}' if text else panel.title
      yield panel._replace(title=title, metrics={name: text})
