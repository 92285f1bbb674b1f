"""Fields of survey.json for a small, a middle and a large text."""

# 20 articles of 27 words: 20 * 27 = 540 words.
SMALL = {
  'num_articles': 20,
  'num_words': 540,
  'long_article': 27,
  'num_sentences': 60,
  'num_recurring': 40,
  'held_out_share': 0.13,
  'num_train_questions': 0,
  'num_held_out_questions': 0,
  'train_secs': 1e-4,
}
# SQuAD's validation paragraphs.
MIDDLE = SMALL | {
  'num_articles': 2067,
  'num_words': 255_000,
  'long_article': 200,
  'num_sentences': 9000,
  'num_recurring': 8000,
  'held_out_share': 0.1,
}
LARGE = MIDDLE | {
  'num_articles': 100_000,
  'num_words': 50_000_000,
  'long_article': 1200,
  'num_sentences': 2_000_000,
  'num_recurring': 1_500_000,
}
