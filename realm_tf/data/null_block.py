"""The null block: an empty candidate, and the mark of a missing block."""

ID = -1  # Ids of other blocks are rows of the corpus, from 0.
