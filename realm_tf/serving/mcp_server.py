"""The server's tools for an assistant that speaks MCP, over stdin and stdout.

The official package `mcp`, an extra, has the Model Context Protocol. A tool's
docstring is the text that the assistant reads about it.
"""

from collections.abc import Awaitable, Callable
import functools
import os
import sys
from typing import Any

from absl import logging
import msgspec

from realm_tf import errors
from realm_tf.serving import bodies
from realm_tf.serving import handlers
from realm_tf.serving import service as service_lib

_MOST_FOUND = 100  # Passages of a search.


def divert_stdout() -> int:
  """Sends all output to stderr; returns a descriptor of stdout."""
  wire = os.dup(1)
  os.dup2(2, 1)
  logging.get_absl_handler().python_handler.stream = sys.stderr
  return wire


def run(service: service_lib.Service, wire: int) -> None:
  """Serves on stdin and `wire` until the assistant closes stdin."""
  os.dup2(wire, 1)  # The package takes it, and diverts it again.
  make_server(service).run('stdio')
  os.dup2(2, 1)


def make_server(service: service_lib.Service) -> Any:
  """Returns a `mcp.server.mcpserver.MCPServer` with the tools."""
  from mcp.server import mcpserver  # pylint: disable=g-import-not-at-top
  from mcp.server.mcpserver import exceptions  # pylint: disable=g-import-not-at-top

  def refusing(tool: Callable[..., Awaitable[Any]]) -> Any:
    @functools.wraps(tool)
    async def call(**arguments: Any) -> Any:
      try:
        return await tool(**arguments)
      except (errors.RequestError, errors.UserError) as error:
        # The assistant reads the message of this error only.
        raise exceptions.ToolError(str(error)) from error

    return call

  server = mcpserver.MCPServer('realm_tf', log_level='WARNING')
  tools = _Tools(service)
  for tool in (tools.search, tools.ask, tools.article):
    server.add_tool(refusing(tool))
  return server


class _Tools:
  def __init__(self, service: service_lib.Service):
    self._service = service
    self._api = handlers.Api(service, handlers.Settings())

  async def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
    """Finds the k passages that fit a query best, the best one first.

    A passage has a title, an id, which `article` takes, a text and a score;
    `article_id` is the article's address or file.
    """
    body = _checked(bodies.Words, text=query)
    # The model may be a newer one at the time of the search.
    found = await self._api.alone(
      lambda text: self._service.model.answerer.search(
        text, min(k, _MOST_FOUND)
      ),
      body.text,
    )
    names = {'block_id': 'id'}
    return [
      {names.get(name, name): value for name, value in each._asdict().items()}
      for each in found
    ]

  async def ask(self, question: str) -> dict[str, Any]:
    """Answers a question by a piece of the corpus, cut to the letter.

    `probability` is that the answer is right, `null_probability` that no
    passage read has the answer. A refused answer is a guess: the corpus does
    not seem to say. The answer was cut from the passage `text` of the article
    `title`; `article` takes the passage's `id`.
    """
    reply = await self._api.ask(_checked(bodies.Question, question=question))
    evidence = reply['evidence'][0] if reply['evidence'] else {}
    names = 'answer', 'probability', 'null_probability', 'is_refused'
    return {
      **{name: reply[name] for name in names},
      'title': evidence.get('title'),
      'id': evidence.get('block_id'),
      'article_id': evidence.get('article_id'),
      'text': evidence.get('text'),
    }

  async def article(self, id: int) -> dict[str, Any]:
    """Returns the article of a passage's id: its title and its text."""
    found = await self._api.article(bodies.Block(block_id=id))
    text = '\n'.join(block['text'] for block in found['blocks'])
    return {'title': found['title'], 'text': text}


def _checked(kind: type[bodies.AnyBody], **fields: str) -> bodies.AnyBody:
  return bodies.parse(msgspec.json.encode(fields), kind)
