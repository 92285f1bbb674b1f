"""Runs a pipeline of Apache Beam."""

from collections.abc import Iterator, Sequence
import contextlib

from absl import logging
import apache_beam as beam
from apache_beam.options import pipeline_options

from realm_tf import errors


@contextlib.contextmanager
def pipeline(options: Sequence[str]) -> Iterator[beam.Pipeline]:
  """Yields a pipeline, and runs it at the end; UserError if Beam fails."""
  try:
    with beam.Pipeline(
      options=pipeline_options.PipelineOptions(list(options))
    ) as result:
      yield result
  except Exception as error:  # Beam, runners and services raise any kind.
    logging.info('Beam ended with:', exc_info=True)
    raise errors.UserError(
      f'Beam must run with {" ".join(options)}. Found {type(error).__name__}: '
      f'{str(error).strip()[:300]!r}. Check --runner and --beam_option.'
    ) from error
