"""Packages realm_tf, with bin/ and launch/ inside, and its console commands.

Ranges are here; exact versions in constraints.txt.
"""

import pathlib
import re

import setuptools

_ROOT = pathlib.Path(__file__).parent
_VERSION = re.search(
  r"__version__ = '(.*)'", (_ROOT / 'realm_tf/__init__.py').read_text()
)[1]
_COMMANDS = [
  f'realm-{path.stem.replace("_", "-")} = {function.format(path.stem)}'
  for folder, function in (
    ('bin', 'realm_tf.bin.launcher:console'),
    ('launch', 'realm_tf.launch.{}:main'),
  )
  for path in sorted(_ROOT.glob(f'{folder}/*.py'))
  if "__name__ == '__main__'" in path.read_text()
]
_FILES = [
  'lxml_html_clean>=0.4,<1',  # trafilatura's jusText imports it.
  'markdown-it-py>=4,<5',
  'pypdfium2>=5.15,<6',
  'python-docx>=1.2,<2',
  'trafilatura>=2.3,<3',
]

setuptools.setup(
  name='realm_tf',
  version=_VERSION,
  description='Retrieval-augmented language model pre-training in TensorFlow',
  long_description=(_ROOT / 'README.md').read_text(),
  long_description_content_type='text/markdown',
  license='Apache-2.0',
  classifiers=[
    'License :: OSI Approved :: Apache Software License',
    'Programming Language :: Python :: 3.10',
    'Programming Language :: Python :: 3.11',
    'Programming Language :: Python :: 3.12',
    'Programming Language :: Python :: 3.13',
    'Topic :: Scientific/Engineering :: Artificial Intelligence',
  ],
  python_requires='>=3.10,<3.14',
  package_data={
    'realm_tf': ['py.typed'],
    'realm_tf.demo': ['*.jsonl.xz', 'README.md'],
    'realm_tf.serving': ['report_static/*', 'static/*'],
    'realm_tf.text': ['characters.json', 'english.json'],
  },
  packages=[
    *setuptools.find_packages(include=['realm_tf', 'realm_tf.*']),
    'realm_tf.bin',
    'realm_tf.launch',
  ],
  package_dir={'realm_tf.bin': 'bin', 'realm_tf.launch': 'launch'},
  entry_points={'console_scripts': _COMMANDS},
  install_requires=[
    'absl-py>=1.4,<3',
    'bm25s>=0.3,<0.4',
    'granian>=2.8,<3',
    'huggingface_hub>=2.4,<3',
    'ir-measures>=0.4,<0.5',
    'jinja2>=3.1,<4',
    'markupsafe>=3,<4',
    'matplotlib>=3.10,<4',
    'msgspec>=0.22,<0.23',
    'mwparserfromhell>=0.7,<0.8',
    'mwxml>=0.3.8,<0.4',
    'numpy>=2,<3',
    'prometheus_client>=0.22,<1',
    'PyStemmer>=3,<4',
    'pyarrow>=20',
    'regex>=2025',  # Named by date.
    'safetensors>=0.6,<1',
    'scikit-learn>=1.7,<2',
    'scipy>=1.15,<2',
    # Newer ones drop pkg_resources, which tensorboard and official import.
    'setuptools<80',
    'spacy>=3.8,<3.9',
    'starlette>=1.7,<2',
    'tensorflow-datasets>=4.9,<5',
    # These five move together; scann is built against one TensorFlow.
    'scann[tf]>=1.4.2,<1.5',
    'tensorflow>=2.20,<2.21',
    'tensorflow-text>=2.20,<2.21',
    'tf-keras>=2.20,<2.21',
    'tf-models-official>=2.20,<2.21',
    'tqdm>=4.66,<5',
  ],
  extras_require={
    'beam': ['apache-beam>=2.77,<3'],
    'dask': ['apache-beam>=2.77,<3', 'dask[distributed]>=2026.1'],
    'files': _FILES,
    'mcp': ['mcp>=2.3,<3'],
    'milvus': ['pymilvus[milvus-lite]>=3,<4'],
    'openvino': ['openvino>=2026.4,<2027'],
    'test': [
      *_FILES,
      'apache-beam>=2.77,<3',
      'dask[distributed]>=2026.1',
      'hypothesis>=6,<7',
      'mcp>=2.3,<3',
      'mypy>=1.20,<2',
      'openvino>=2026.4,<2027',
      'pymilvus[milvus-lite]>=3,<4',
      'pytest>=9,<10',
      'pytest-xdist>=3.8,<4',
      'ruff>=0.17,<0.18',
    ],
  },
)
