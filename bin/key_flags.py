"""Defines the flags that name the keys of articles."""

from absl import flags

from realm_tf.corpus import article_records

_KEYS = [
  flags.DEFINE_string(
    f'{name}_key', '', f'Key or column of the {name} of an article.'
  )
  for name in ('id', 'title', 'text')
]


def keys() -> article_records.Keys:
  """Returns the keys that the flags name."""
  return article_records.Keys(*(key.value for key in _KEYS))
