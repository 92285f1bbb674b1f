r"""Takes pictures of the page's states, as PNG, with an installed Chromium.

  python -m benchmarks.page_pictures --run_dir=runs/quickstart \
      --output_dir=pictures

The answer and the masked sentence are the first examples of the recipe's
RUN_DIR.
"""

import base64
import io
import pathlib
import sys
import tempfile
import urllib.parse

from absl import app
from absl import flags
from PIL import Image

from benchmarks import running_server
from tests.serving import browser as browser_lib

_RUN_DIR = flags.DEFINE_string(
  'run_dir', None, 'RUN_DIR of a finished recipe.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'Directory to write.', required=True
)
_REFUSED = 'Who wrote Hamlet?'  # The corpus does not answer it.
_WIDE, _NARROW = 1000, 390
_README = 640  # Pixels down to the end of an answer.
_STARTED = '!!document.querySelector("#examples[data-mode]")'
_DONE = (
  '!document.querySelector("[aria-busy]") && '
  '!!document.querySelector("#status > *, #error > *")'
)
_OPEN = 'document.querySelectorAll("{}").forEach((d) => d.open = true)'
_COMPARED = '!!document.querySelector(".other .sides")'


class Camera:
  """Shows states of the page at `url`, and writes pictures to `folder`."""

  def __init__(
    self, browser: browser_lib.Browser, url: str, folder: pathlib.Path
  ):
    self._browser, self._url, self._folder = browser, url, folder
    folder.mkdir(parents=True, exist_ok=True)

  def show(self, width: int = _WIDE, scheme: str = 'light', **state: str):
    """Opens a state, by the parameter of its address, and waits for it."""
    url = f'{self._url}?{urllib.parse.urlencode(state)}'
    self._browser.show(url, width, 640, scheme)
    self._browser.wait(_STARTED)
    if any(state.values()):
      self._browser.wait(_DONE)

  def open(self, selector: str) -> None:
    """Opens the parts that are shown on demand."""
    self._browser.evaluate(_OPEN.format(selector))

  def take(self, name: str, height: int = 0) -> None:
    """Writes the page, at least a window of it, or its first `height` pixels.

    64 colors make a file of a third of the bytes.
    """
    size = self._browser.send('Page.getLayoutMetrics')['cssContentSize']
    size['height'] = height or size['height']
    found = self._browser.send(
      'Page.captureScreenshot',
      captureBeyondViewport=True,
      clip={**size, 'scale': 1},
    )
    path = self._folder / f'{name}.png'
    picture = Image.open(io.BytesIO(base64.b64decode(found['data'])))
    picture.convert('RGB').quantize(64).save(path, optimize=True)
    print(path)


def main(_):
  chromium = browser_lib.find()
  if chromium is None:
    sys.exit('Chromium must be installed, or $REALM_CHROMIUM must name it.')
  server = running_server.Server(_RUN_DIR.value, '')
  with tempfile.TemporaryDirectory() as profile:
    browser = browser_lib.Browser(chromium, profile)
    try:
      folder = pathlib.Path(_OUTPUT_DIR.value)
      _take_all(Camera(browser, server.url, folder), browser)
    finally:
      server.close()
      browser.close()


def _take_all(camera: Camera, browser: browser_lib.Browser) -> None:
  camera.show(q='')
  camera.take('start')
  questions, masked = browser.evaluate(
    'fetch("api/about").then((reply) => reply.json())'
    '.then(({examples}) => [examples.questions, examples.masked])'
  )
  camera.show(q=questions[0])
  camera.take('answer')
  camera.take('readme', height=_README)
  camera.open('.sure, .steps, .other')
  browser.wait(_COMPARED)
  camera.take('answer_opened')
  camera.show(q=_REFUSED)
  camera.take('refused')
  camera.show(_NARROW, 'dark', q=questions[0])
  camera.open('.steps')
  camera.take('narrow_dark')
  camera.show(m=masked[0])
  camera.open('.steps')
  camera.take('masked')
  camera.show(s='Lima')
  camera.take('search')
  block = browser.evaluate(
    'document.querySelector(".blocks a").search.split("=")[1]'
  )
  camera.show(block=block)
  camera.take('article')
  camera.show(m='No mask.')
  camera.take('error')


if __name__ == '__main__':
  app.run(main)
