"""A quickstart's figures for a person, from its files."""

import json
import pathlib


def first_table(run_dir: str) -> str:
  """Returns the recall of each retriever before any question."""
  root = pathlib.Path(run_dir, 'eval')
  lines = []
  for path in sorted(root.glob('retrieval_*/**/metrics.json')):
    recall = json.loads(path.read_text())['recall@5']
    lines.append(f'{recall:5.1f} recall@5  {path.parent.relative_to(root)}')
  return '\n'.join(lines)


def summary(run_dir: str) -> str:
  return f'Open {run_dir}/report.html.'
