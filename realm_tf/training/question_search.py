"""The search for training questions, which jobs get from their caller.

A search may know the questions by their numbers, as BM25 of their texts does,
or by their wordpieces, as an index does.
"""

from collections.abc import Callable

import numpy as np

from realm_tf.index import searcher as searcher_lib

# (numbers of the questions [B], their wordpieces int32 [B, Lq], N) -> the N
# best blocks of each.
Search = Callable[[np.ndarray, np.ndarray, int], searcher_lib.Neighbors]
