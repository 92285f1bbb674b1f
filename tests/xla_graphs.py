"""Finds ops, types and shapes that a TPU does not accept, without a TPU.

  code under test -> `recorded()` -> functions compiled by XLA -> `problems()`

TensorFlow's wheel for CPUs lacks the list of a TPU's ops. By the sources, a TPU
accepts all kernels of tf2xla (TpuOpFilter in tpu_node_device_util.cc refuses
none), with the types `kTpuAllTypes` of tpu_defs.h. tf2xla registers a kernel
for every backend unless the kernel names its backends. So a TPU accepts every
op that both backends of this wheel, XLA_CPU_JIT and XLA_GPU_JIT, have, with the
types that both its kernels and the TPU allow. The backend XLA_TPU_JIT of
tensorflow-tpu 2.20.0 confirms it: its 537 ops include all 489 that are found
here, with all their types; the others sum over cores and serve sparse
embeddings.
"""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import functools
import re
from typing import Any
from unittest import mock

import tensorflow as tf
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

# Types in kTpuAllTypes that a model may have, and types without numbers.
_TYPES = frozenset(
  dtype.as_datatype_enum
  for dtype in (
    tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64,
    tf.uint64, tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.bool,
    tf.resource, tf.variant,
  )
)  # fmt: skip
# Arguments and captures of a function; control dependencies.
_NO_KERNEL_NEEDED = frozenset(['Placeholder', 'NoOp'])
# Ops that have kernels, but act on the host or have sizes that follow values.
_FORBIDDEN = frozenset([
  'Assert', 'BooleanMask', 'NonMaxSuppressionV3', 'Print', 'PrintV2', 'Unique',
  'UniqueV2', 'UniqueWithCounts', 'Where', 'XlaHostCompute', 'XlaSendToHost',
  'XlaRecvFromHost',
])  # fmt: skip

# Outputs without a static size in TensorFlow, but with one in the compiler: the
# axes in which static shapes differ, and the state of batch norm on GPUs.
_KNOWN_WHEN_COMPILED = frozenset([
  ('BroadcastGradientArgs', 0), ('BroadcastGradientArgs', 1),
  ('FusedBatchNormV3', 5),
])  # fmt: skip
_KEPT_BY_BATCH_NORM = re.compile(r'/FusedBatchNormV3\w*:5$')  # Its gradient: 0.


class RecordedFunction:
  """A tf.function that records the arguments of its calls."""

  def __init__(self, python_function: Callable[..., Any], **options: Any):
    self._function = tf_function(python_function, **options)
    self._calls: list[tuple[tuple, dict]] = []
    functools.update_wrapper(self, python_function)

  def __call__(self, *args, **kwargs):
    if tf.executing_eagerly():  # Else it is part of another function's graph.
      self._calls.append((args, kwargs))
    return self._function(*args, **kwargs)

  def __getattr__(self, name):
    return getattr(self._function, name)

  def graphs(self) -> list[tf.Graph]:
    """Returns its traced graphs, one for each shape."""
    found = [
      self._function.get_concrete_function(*args, **kwargs).graph
      for args, kwargs in self._calls
    ]
    return list({id(graph): graph for graph in found}.values())


tf_function = tf.function


@contextlib.contextmanager
def recorded(jit_compile: bool = True) -> Iterator[list[RecordedFunction]]:
  """Records every tf.function that is made in this context.

  `jit_compile` replaces the setting of each function.
  """
  functions = []

  def make(python_function=None, **options):
    if python_function is None:
      return functools.partial(make, **options)
    options['jit_compile'] = jit_compile
    functions.append(RecordedFunction(python_function, **options))
    return functions[-1]

  with mock.patch.object(tf, 'function', make):
    yield functions


def problems(graph: tf.Graph) -> list[str]:
  """Returns ops that a TPU does not accept, or that have no static shape."""
  graph_def = graph.as_graph_def(add_shapes=True)
  nodes = [('', node) for node in graph_def.node]
  for function in graph_def.library.function:
    name = f'{function.signature.name}/'
    nodes += [(name, node) for node in function.node_def]
  return [
    f'{place}{node.name} ({node.op}) {problem}'
    for place, node in nodes
    for problem in (*_op_problems(node), *_shape_problems(node))
  ]


def num_ops(graph: tf.Graph) -> int:
  """Returns the number of ops that `problems` checks."""
  graph_def = graph.as_graph_def()
  return len(graph_def.node) + sum(
    len(function.node_def) for function in graph_def.library.function
  )


@functools.cache
def tpu_kernels() -> Mapping[str, list[dict[str, frozenset[int]]]]:
  """Returns op -> its kernels, each as attribute -> allowed types."""
  # XLA registers its kernels when it first compiles.
  tf_function(lambda: tf.zeros([]), jit_compile=True)()
  found: dict[str, dict[str, list]] = {'XLA_CPU_JIT': {}, 'XLA_GPU_JIT': {}}
  for kernel in kernels.get_all_registered_kernels().kernel:
    if kernel.device_type in found:
      types = {
        each.name: _TYPES & frozenset(each.allowed_values.list.type)
        for each in kernel.constraint
      }
      found[kernel.device_type].setdefault(kernel.op, []).append(types)
  on_cpu, on_gpu = found.values()
  return {op: each for op, each in on_cpu.items() if op in on_gpu}


def _op_problems(node):
  if node.op in _FORBIDDEN:
    yield 'has a size that depends on values, or acts on the host'
  elif node.op not in _NO_KERNEL_NEEDED:
    of_op = tpu_kernels().get(node.op, [])
    if not of_op:
      yield 'is no op of a TPU'
    elif not any(_fits(node, types) for types in of_op):
      yield 'has a type that a TPU lacks'


def _fits(node, types):
  return all(
    {node.attr[name].type, *node.attr[name].list.type} - {0} <= allowed
    for name, allowed in types.items()
    if name in node.attr
  )


def _shape_problems(node):
  shapes = node.attr['_output_shapes'].list.shape
  if len(shapes) == 0 and op_def_registry.get(node.op).output_arg:
    yield 'has no shape'
  if node.op == 'ZerosLike' and _KEPT_BY_BATCH_NORM.search(node.input[0]):
    return
  for i, shape in enumerate(shapes):
    if (node.op, i) in _KNOWN_WHEN_COMPILED:
      continue
    if shape.unknown_rank or any(dim.size < 0 for dim in shape.dim):
      yield f'has a shape that is not static: {shape}'.replace('\n', ' ')
