"""Lets pytest run absl tests: their temporary directories need parsed flags."""

from absl import flags

flags.FLAGS.mark_as_parsed()
