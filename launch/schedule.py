"""Runs the stages of a recipe."""

from collections.abc import Iterator
import dataclasses
import json
import os
import subprocess
import sys

from . import recipe as recipe_lib

from realm_tf import errors

_BIN = f'{__package__}.'.removesuffix('launch.') + 'bin'


def plan(recipe: recipe_lib.Recipe) -> Iterator[str]:
  for stage in recipe.stages.values():
    yield f'{stage.name}: would run'


def run(recipe: recipe_lib.Recipe) -> None:
  for stage in recipe.stages.values():
    done = os.path.join(recipe.run_dir, '.stages', stage.name)
    os.makedirs(os.path.dirname(done), exist_ok=True)
    if os.path.exists(done):
      continue
    flags = dict(stage.flags)
    if stage.config is not None:
      flags['config'] = f'{done}.config.json'
      with open(flags['config'], 'w') as file:
        json.dump(dataclasses.asdict(stage.config), file)
    if callable(stage.action):
      stage.action(**flags)
    else:
      print(f'[{stage.name}]')
      beside = stage.companion and subprocess.Popen(
        [sys.executable, '-m', f'{_BIN}.{stage.companion[0]}']
        + list(recipe_lib.arguments(stage.companion[1]))
      )
      command = [sys.executable, '-m', f'{_BIN}.{stage.action}']
      code = subprocess.call([*command, *recipe_lib.arguments(flags)])
      if code:
        raise errors.UserError(f'Stage {stage.name} failed.')
      if beside:
        beside.wait()
    open(done, 'w').close()
