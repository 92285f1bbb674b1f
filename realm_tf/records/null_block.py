"""The null block, which stands in place of a block that is not there."""

ID = -1  # Ids of blocks are rows of the corpus, from 0.
