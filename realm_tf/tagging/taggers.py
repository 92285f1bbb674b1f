"""Opens a tagger of salient spans by the value of --tagger."""

from collections.abc import Iterable

from realm_tf import errors
from realm_tf.corpus import rules_tagger
from realm_tf.corpus import salient_spans
from realm_tf.tagging import bert_tagger


def make(
  spec: str, gazetteer: Iterable[str] = (), num_workers: int = 1
) -> salient_spans.Tagger:
  """Returns the tagger of e.g. 'bert:DIR'; only 'rules' reads `gazetteer`."""
  kind, _, name = spec.partition(':')
  if spec == 'rules':
    return rules_tagger.RulesTagger(gazetteer)
  if kind == 'spacy' and name:
    return salient_spans.SpacyTagger(name, num_workers)
  if kind == 'bert' and name:
    return bert_tagger.load(name)
  raise errors.UserError(
    f"--tagger must be 'rules', 'spacy:NAME' or 'bert:DIR'. Found {spec!r}."
  )
