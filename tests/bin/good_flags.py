"""Flags of all binaries, for the tests of users' mistakes."""

# Binary -> good flags, and its flags of files that must exist. Flags that
# several binaries share are in one row only.
ALL = {
  'answer': (
    'model_dir corpus_dir question=a',
    'model_dir corpus_dir index_dir reader_dir',
  ),
  'average_models': ('model_dir before_dir output_dir', 'model_dir before_dir'),
  'build_index': ('model_dir corpus_dir output_dir', 'model_dir base'),
  'calibrate': ('model_dir corpus_dir questions', ''),
  'evaluate': (
    'model_dir corpus_dir questions output_dir',
    'questions queries_dir qrels',
  ),
  'export': (
    'model_dir format=hugging_face output_dir',
    'model_dir corpus_dir',
  ),
  'finetune': (
    'corpus_dir questions run_dir',
    'dev_questions init_from reader_init_from',
  ),
  'import_checkpoint': ('source output_dir', 'source vocab_file blocks'),
  'make_blocks': ('input output_dir', 'input vocab_file vocab_text append'),
  'make_queries': ('input corpus_dir output_dir', 'tagger'),
  'plan_tpu': ('topology=v5e:2x2', ''),
  'pretrain': ('corpus_dir queries_dir run_dir', 'queries_dir'),
  'refresh_index': ('run_dir corpus_dir once=true', 'corpus_dir base'),
  'report': ('run_dir output', 'run_dir eval_dir results'),
  'results_table': ('run_dir questions rows=a', 'run_dir'),
  'serve': ('model_dir corpus_dir port=0', 'token_file pretrained_dir'),
  'survey': ('input output_dir', 'questions'),
  'train_closed_book': ('corpus_dir queries_dir run_dir', 'queries_dir'),
  'train_path': ('corpus_dir questions init_from run_dir', 'init_from'),
  'train_tagger': ('train output_dir vocab_file', 'train dev vocab_file'),
  'unpack_demo': ('output_dir', 'predictions'),
  'warm_start': ('corpus_dir questions run_dir', ''),
}
