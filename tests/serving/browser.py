"""Headless Chromium, driven over the DevTools protocol's pipe.

Messages are JSON followed by a zero byte, so no package is needed.
"""

import json
import os
import select
import shutil
import subprocess
import time
from typing import Any, Optional

# The faults that axe-core finds, one line each: rule, fault, elements.
_AXE = """axe.run().then((found) => found.violations.map((each) =>
  `${each.id}: ${each.help}: ` +
  each.nodes.map((node) => node.target.join(' ')).join(', ')))"""
_NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'chrome')
_TIMEOUT_SECS = 60
_KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27}


def find() -> Optional[str]:
  """Returns the path in $REALM_CHROMIUM, or of an installed Chromium."""
  given = os.environ.get('REALM_CHROMIUM')
  return given or next(filter(None, map(shutil.which, _NAMES)), None)


def find_axe() -> Optional[str]:
  """Returns the path of axe-core's script in $REALM_AXE."""
  return os.environ.get('REALM_AXE') or None


class Browser:
  """One page of the Chromium at `path`; `profile_dir` is an empty directory."""

  def __init__(self, path: str, profile_dir: str):
    self._number = 0
    self._received = b''
    self.messages: list[dict[str, Any]] = []  # Events, oldest first.
    to_browser, self._to = os.pipe()
    self._from, from_browser = os.pipe()
    self._process = subprocess.Popen(
      [
        # The browser uses file descriptors 3 and 4.
        *('bash', '-c', 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'),
        *(str(to_browser), str(from_browser), path),
        *('--headless=new', '--no-sandbox', '--disable-gpu'),
        *('--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run'),
        # The browser sends no requests of its own.
        *('--disable-background-networking', '--disable-component-update'),
        *('--remote-debugging-pipe', f'--user-data-dir={profile_dir}'),
        'about:blank',
      ],
      pass_fds=[to_browser, from_browser],
      stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    self._session = None
    target = self.send('Target.createTarget', url='about:blank')['targetId']
    self._session = self.send(
      'Target.attachToTarget', targetId=target, flatten=True
    )['sessionId']
    for domain in ('Page', 'Runtime', 'Log', 'Network'):
      self.send(f'{domain}.enable')

  def send(self, method: str, **params: Any) -> dict[str, Any]:
    """Sends a command of the protocol; returns its result."""
    self._number += 1
    message = {'id': self._number, 'method': method, 'params': params}
    if self._session:
      message['sessionId'] = self._session
    os.write(self._to, json.dumps(message).encode() + b'\0')
    while (reply := self._read()).get('id') != self._number:
      self.messages.append(reply)
    if 'error' in reply:
      raise RuntimeError(f'{method}: {reply["error"]}')
    return reply['result']

  def show(self, url: str, width: int, height: int, scheme: str) -> None:
    """Opens a page in a window; `scheme` is 'light' or 'dark'."""
    self.resize(width, height)
    self.prefer(scheme)
    self.send('Page.navigate', url=url)
    self.wait('document.readyState === "complete"')

  def resize(self, width: int, height: int) -> None:
    self.send(
      'Emulation.setDeviceMetricsOverride',
      **{'width': width, 'height': height, 'deviceScaleFactor': 1},
      mobile=False,
    )

  def prefer(self, scheme: str) -> None:
    """Shows the page in the colors of `scheme`."""
    self.send(
      'Emulation.setEmulatedMedia',
      features=[
        {'name': 'prefers-color-scheme', 'value': scheme},
        {'name': 'prefers-reduced-motion', 'value': 'reduce'},
      ],
    )

  def evaluate(self, expression: str) -> Any:
    """Returns the value of a JavaScript expression."""
    result = self.send(
      'Runtime.evaluate',
      expression=expression,
      returnByValue=True,
      awaitPromise=True,
    )
    if 'exceptionDetails' in result:
      raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
    return result['result'].get('value')

  def wait(self, expression: str) -> Any:
    """Evaluates an expression until it is true; returns its value."""
    deadline = time.monotonic() + _TIMEOUT_SECS
    while not (value := self.evaluate(expression)):
      if time.monotonic() > deadline:
        raise TimeoutError(expression)
    return value

  def violations(self) -> list[str]:
    """Returns the faults that axe-core finds; [] without axe-core."""
    path = find_axe()
    if path is None:
      return []
    if not self.evaluate('"axe" in window'):
      with open(path) as file:
        self.evaluate(file.read() + '; 0')
    return self.evaluate(_AXE)

  def type(self, text: str) -> None:
    self.send('Input.insertText', text=text)

  def press(self, key: str) -> None:
    """Presses a key in `_KEYS`."""
    about = {'key': key, 'code': key, 'windowsVirtualKeyCode': _KEYS[key]}
    if key == 'Enter':
      about['text'] = '\r'
    self.send('Input.dispatchKeyEvent', type='keyDown', **about)
    self.send('Input.dispatchKeyEvent', type='keyUp', **about)

  def close(self) -> None:
    self._session = None
    self.send('Browser.close')
    self._process.wait(_TIMEOUT_SECS)
    os.close(self._to)
    os.close(self._from)

  def _read(self):
    while b'\0' not in self._received:
      if not select.select([self._from], [], [], _TIMEOUT_SECS)[0]:
        raise TimeoutError('The browser does not answer.')
      part = os.read(self._from, 1 << 16)
      if not part:
        raise EOFError('The browser has ended.')
      self._received += part
    message, _, self._received = self._received.partition(b'\0')
    return json.loads(message)
