"""Gets any tagger of salient spans by the name that a flag gives."""

from collections.abc import Iterable

from realm_tf.corpus import salient_spans
from realm_tf.tagging import bert_tagger


def make(
  spec: str, gazetteer: Iterable[str] = (), num_workers: int = 1
) -> salient_spans.Tagger:
  """Returns a tagger.

  Args:
    spec: 'bert:DIR' of bin.train_tagger, or see `salient_spans.make_tagger`.
    gazetteer: Names that 'rules' shall know.
    num_workers: Processes of spaCy.

  Raises:
    UserError: There is no such tagger.
  """
  kind, _, directory = spec.partition(':')
  if kind == 'bert' and directory:
    return bert_tagger.load(directory)
  return salient_spans.make_tagger(spec, gazetteer, num_workers)
