"""A model with its corpus: questions, searches and masked sentences."""

from collections.abc import Iterable
import dataclasses
import functools
import os
import reprlib
from typing import Any, Optional

from realm_tf import errors
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import loading
from realm_tf.qa import masked_sentences
from realm_tf.run import manifests
from realm_tf.run import recipe_result

# Other names in realm.json; the last two are for the page of bin.serve.
_NO_CHOICES = (
  *('model_dir', 'corpus_dir', 'index_dir', 'pretrained_dir'),
  *('best_effort', 'examples'),
)


_loaded_by: set[int] = set()  # Ids of processes.


@dataclasses.dataclass(frozen=True)
class Bundle:
  """A model that answers, searches and completes.

  Attributes:
    answerer: Answers questions; may lack a reader.
    pretrained_dir: Model directory that completes masked sentences.
  """

  answerer: answerer_lib.Answerer
  model_dir: str
  corpus_dir: str
  pretrained_dir: str

  def ask(
    self, question: str, top_k: Optional[int] = None
  ) -> answer_lib.Answer:
    """Answers one question; for many questions, `answer` is faster."""
    return self.answer([question], top_k)[0]

  def answer(
    self, questions: Iterable[str], top_k: Optional[int] = None
  ) -> list[answer_lib.Answer]:
    """Answers questions; `top_k` limits the evidence of each."""
    _check_process()
    loading.require_reader(self.answerer.reader, self.model_dir)
    # Else each letter of a single question would be one.
    is_many = isinstance(questions, Iterable) and not isinstance(questions, str)
    given = [_text(each) for each in (questions if is_many else [questions])]
    if top_k is not None:
      top_k = answerer_lib.number_of_blocks('top_k', top_k)
    return self.answerer.answer(given, top_k)

  def search(self, text: str, k: int = 5) -> list[answerer_lib.Found]:
    """Returns the `k` best blocks for a text, best first."""
    _check_process()
    return self.answerer.search(_text(text), k)

  def complete(self, sentence: str) -> dict[str, Any]:
    """Fills the [MASK]s of a sentence, with and without retrieval."""
    _check_process()
    text = _text(sentence)
    return self._completer.complete(text)

  @functools.cached_property
  def _completer(self) -> masked_sentences.Completer:
    return masked_sentences.load(self.pretrained_dir, self.corpus_dir)


def load(
  directory: str,
  corpus_dir: Optional[str] = None,
  index_dir: Optional[str] = None,
  *,
  pretrained_dir: Optional[str] = None,
  **choices: Any,
) -> Bundle:
  """Opens the RUN_DIR of a recipe, or a model directory with its corpus.

  Args:
    corpus_dir: By default as in RUN_DIR/realm.json, or the directory `corpus`
      in the model directory or next to it.
    index_dir: An index version; by default the model's newest.
    pretrained_dir: Model directory for `complete`; by default the model's.
    choices: Fields of `loading.Choices`, such as num_read=3.

  Raises:
    UserError: A part is missing, or parts do not belong together.
  """
  _check_process()
  given = {
    'corpus_dir': corpus_dir,
    'index_dir': index_dir,
    'pretrained_dir': pretrained_dir,
    **choices,
  }
  given = {name: value for name, value in given.items() if value is not None}
  found: dict[str, Any] = {'model_dir': directory}
  found |= recipe_result.read(directory, given) | given
  model_dir = found['model_dir']
  corpus_dir = found.get('corpus_dir') or _corpus_of(model_dir)
  chosen = {name: found[name] for name in found if name not in _NO_CHOICES}
  answerer = loading.load_answerer(
    model_dir, corpus_dir, found.get('index_dir'), loading.Choices(**chosen)
  )
  pretrained_dir = found.get('pretrained_dir', model_dir)
  _loaded_by.add(os.getpid())
  return Bundle(answerer, model_dir, corpus_dir, pretrained_dir)


def _check_process() -> None:
  """Raises UserError in a fork, which has lost TensorFlow's threads."""
  if _loaded_by and os.getpid() not in _loaded_by:
    raise errors.UserError(
      'A model must be loaded and used in a process of its own. Found a fork '
      "of one that has loaded a model. Start it by multiprocessing's 'spawn'."
    )


def _text(given: Any) -> str:
  if isinstance(given, str):
    return given
  raise errors.UserError(
    f'Questions must be texts. Found {reprlib.repr(given)}. Give a text, or a '
    'list of texts.'
  )


def _corpus_of(model_dir: str) -> str:
  """Returns the corpus in a model directory or next to it."""
  for folder in (model_dir, os.path.dirname(model_dir.rstrip('/'))):
    path = os.path.join(folder, 'corpus')
    if manifests.is_complete(path):
      return path
  raise errors.UserError(
    f'{model_dir} must have a {recipe_result.NAME}, or a directory `corpus` in '
    'it or next to it. Found neither. Give corpus_dir, from bin.make_blocks.'
  )
