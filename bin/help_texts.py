"""Texts of --help and of errors, for a checkout or an installation."""

import re
import sys

from absl import flags


def complete() -> None:
  """Adds the shared modules' flags to the binary's --help."""
  main = sys.modules['__main__']
  main.__doc__ = as_installed(main.__doc__ or '')
  for module, defined in flags.FLAGS.flags_by_module_dict().items():
    if module == sys.argv[0] or module.rpartition('.')[0] == __package__:
      for flag in defined:
        flag.help = as_installed(flag.help)
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flag)


def as_installed(text: str) -> str:
  """Writes bin.answer as realm-answer, unless run from a checkout."""
  if __package__ == 'bin':
    return text
  return re.sub(
    r'(?:python -m )?(?<![\w/.-])bin\.(\w+)',
    lambda match: f'realm-{match[1].replace("_", "-")}',
    text,
  )
