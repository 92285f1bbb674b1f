"""What a model answers, and the evidence for it."""

from typing import Any, NamedTuple, Optional


class Evidence(NamedTuple):
  """One block that was read, and its span to show.

  Attributes:
    block_id: Row number in the corpus.
    title: Of the block.
    text: Of the block.
    start: First character of the answer in `text`.
    end: Behind its last character.
    answer: text[start:end]: of the block's spans the best one or, where the
      same text is summed over spans, the best one with the predicted text if
      the block has one.
    retrieval_probability: p(z|x) among the blocks that were read.
    score: Of the span, the retrieval score included.
    block_answer: What would be predicted if no other block were read.
  """

  block_id: int
  title: str
  text: str
  start: int
  end: int
  answer: str
  retrieval_probability: float
  score: float
  block_answer: str


class Answer(NamedTuple):
  """What the model answers; how sure it is, in two factors.

  The reader is trained on questions of which a block that is read holds the
  answer (Section 3.2), and a constant added to all of its scores changes
  nothing. So its scores cannot say that there is no answer; the retriever's
  can, which the early-update loss trains to be the probability that a block
  holds it. `probability * (1 - null_probability)` is that of both.

  Attributes:
    question: As asked.
    prediction: The first evidence's answer; '' if no block could be read.
    score: Of its best span or, where the same text is summed over spans, the
      logarithm of the sum of their exponentials; None if there is none.
    evidence: At most one per block; that of the prediction first, then by
      score, the best one first.
    probability: p(y|x) of the predicted text, in any spelling that counts as
      the same, if a block that was read has the answer: the softmax over all
      spans of these blocks, summed over the text's. 0 if there is none.
    null_probability: That none of these blocks has the answer: what
      softmax f(x,z) over the blocks found, at most `answerer.NUM_COMPARED`,
      gives to others or to the null block. 1 if no block could be read.
  """

  question: str
  prediction: str
  score: Optional[float]
  evidence: list[Evidence]
  probability: float = 0.0
  null_probability: float = 1.0

  def as_json(self) -> dict[str, Any]:
    """Returns the object that predictions.jsonl and --json show."""
    evidence = [item._asdict() for item in self.evidence]
    return {**self._asdict(), 'evidence': evidence}
