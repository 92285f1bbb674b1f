"""Tests of the page in headless Chromium."""

import os
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.answering import masked_sentence
from realm_tf.serving import handlers
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests.serving import browser as browser_lib
from tests.serving import running_server
from tests.serving import small_models

_SIZES = [
  (width, scheme) for width in (1280, 390) for scheme in ('light', 'dark')
]
_HEIGHT = 844
_TOKEN = 'a-token-of-24-characters'
# Elements with own text and less contrast than WCAG 2 requires.
_LOW_CONTRAST = """(() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) =>
    c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const back = (node) => {
    const color = parse(getComputedStyle(node).backgroundColor);
    return color[3] === 0 ? back(node.parentElement) : color;
  };
  return [...document.querySelectorAll('body *')].filter((node) =>
    node.checkVisibility() && ([...node.childNodes].some((child) =>
      child.nodeType === 3 && child.data.trim()) || 'value' in node))
    .filter((node) => {
      const both = [parse(getComputedStyle(node).color), back(node)];
      const [low, high] = both.map(light).sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05) < 4.5;
    }).map((node) => node.outerHTML.slice(0, 80));
})()"""
_UNNAMED = """[...document.querySelectorAll('input, textarea, button')].filter(
  (node) => node.checkVisibility() && !node.getAttribute('aria-label') &&
    !(node.labels && node.labels[0]?.textContent.trim()) &&
    !(node.tagName === 'BUTTON' && node.textContent.trim())
).map((node) => node.outerHTML)"""


@absltest.skipIf(browser_lib.find() is None, 'No Chromium is installed.')
class PageTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    model_dir, corpus_dir = small_models.write_all(directory)
    pretrained = os.path.join(directory, 'pretrained')
    small_models.write(pretrained, corpus_dir, small_models.PRETRAINED)
    cls.completer = masked_sentence.load(pretrained, corpus_dir)
    cls.model = served_model.load(model_dir, corpus_dir, allow_edits=True)
    profile = os.path.join(directory, 'profile')
    cls.browser = browser_lib.Browser(browser_lib.find(), profile)
    cls.addClassCleanup(cls.browser.close)

  def _serve(self, settings=None, completer=None, allow_edits=False):
    model = self.model if allow_edits else self.model._replace(edits=None)
    service = service_lib.Service(
      running_server.live(model), completer=completer
    )
    running = self.enter_context(
      running_server.run(service, settings or handlers.Settings())
    )
    return f'http://127.0.0.1:{running.client.port}/'

  def _show(self, url, width=1280, scheme='light'):
    self.browser.messages.clear()
    self.browser.show(url, width, _HEIGHT, scheme)

  def _text(self, selector):
    return self.browser.evaluate(
      f'[...document.querySelectorAll({selector!r})].map((n) => n.innerText)'
    )

  def _tab_to(self, condition):
    """Presses Tab until `condition` is true for the focused element `node`."""
    for _ in range(30):
      self.browser.press('Tab')
      found = f'((node) => {condition})(document.activeElement)'
      if self.browser.evaluate(found):
        return
    self.fail(f'Tab does not lead to: {condition}')

  def _submit(self, field, text, shown):
    self._tab_to(f'node.id === "{field}"')
    self.browser.evaluate('document.activeElement.select()')
    self.browser.type(text)
    self.browser.press('Enter')
    self.browser.wait(f'!document.getElementById("{shown}").hidden')

  def _check_accessible(self, width):
    self.assertEqual(
      self.browser.evaluate('document.documentElement.scrollWidth'), width
    )
    self.assertEmpty(self.browser.evaluate(_UNNAMED))
    self.assertEmpty(self.browser.evaluate(_LOW_CONTRAST))
    self.assertEmpty(self.browser.violations())

  def _check_no_errors_and_no_foreign_requests(self, url):
    for message in self.browser.messages:
      self.assertNotIn(
        message.get('method'), ('Log.entryAdded', 'Runtime.exceptionThrown')
      )
      if message.get('method') == 'Network.requestWillBeSent':
        requested = message['params']['request']['url']
        self.assertStartsWith(requested.replace('data:,', url), url)

  @parameterized.parameters(*_SIZES)
  def test_answers_and_completes_with_the_keyboard_alone(self, width, scheme):
    url = self._serve(completer=self.completer, allow_edits=True)
    self._show(url, width, scheme)
    self.browser.wait('about.can_complete')
    self._check_accessible(width)
    self._submit('question', 'a b ?', 'evidence')
    (answer,) = self._text('#ask-status .answer')
    self.assertEqual(self._text('#blocks mark')[0], answer)
    self.assertLen(self._text('#blocks li'), 3)  # With the null block.
    shares = [float(n.split()[0]) for n in self._text('#blocks .number')]
    self.assertAlmostEqual(sum(shares), 100.0, delta=0.2)
    self._submit('sentence', 'a [MASK] d', 'completion')
    self.assertLen(self._text('#with dt'), 5)
    self.assertLen(self._text('#candidates li'), 3)
    self._check_accessible(width)
    self._check_no_errors_and_no_foreign_requests(url)

  @parameterized.parameters(*_SIZES)
  def test_edits_a_block(self, width, scheme):
    url = self._serve(allow_edits=True)
    self._show(url, width, scheme)
    self.browser.wait('about.can_edit')
    self._submit('question', 'a b ?', 'evidence')
    first = '#blocks li:first-child'
    (block,) = self.browser.evaluate(
      f'[document.querySelector({first!r}).dataset.block]'
    )
    self._tab_to('node.innerText === "Change the text"')
    self.browser.press('Enter')
    self.browser.press('Escape')
    self.assertEmpty(self._text('textarea'))
    self.browser.press('Enter')  # Escape restored the focus.
    self._check_accessible(width)
    self.browser.evaluate('document.activeElement.select()')
    text = '<img src=x onerror=alert(1)> \U0001f600 e f.'
    self.browser.type(text)
    self._tab_to('node.innerText === "Save and ask again"')
    self.browser.press('Enter')
    self.browser.wait(
      '!document.querySelector("textarea") && '
      '!document.querySelector("[aria-disabled]")'
    )
    shown = self._text(f'[data-block="{block}"] .text')
    self.assertIn(shown, ([], [text]))  # The block may be read no more.
    self.assertEmpty(self._text('img'))
    self._check_accessible(width)
    self._check_no_errors_and_no_foreign_requests(url)
    for block_id in [*self.model.edits.table.changed]:
      self.model.edits.change(block_id, None)  # All tests share the model.

  def test_axe_finds_a_fault(self):
    if browser_lib.find_axe() is None:
      self.skipTest('$REALM_AXE does not name axe-core.')
    self._show(self._serve())
    self.assertEmpty(self.browser.violations())
    self.browser.evaluate(
      'document.body.append(document.createElement("button")); 0'
    )
    (found,) = self.browser.violations()
    self.assertStartsWith(found, 'button-name: ')

  def test_marks_count_characters_not_utf_16_units(self):
    self._show(self._serve())
    self.assertEqual(
      self.browser.evaluate(
        r'marked("\u{1f600}\u{1f600} yes.", 3, 6)'
        '.querySelector("mark").innerText'
      ),
      'yes',
    )

  def test_hides_missing_features_and_shows_errors(self):
    self._show(self._serve())
    self.browser.wait('about.num_blocks')
    hidden = 'document.getElementById("complete-section").checkVisibility()'
    self.assertFalse(self.browser.evaluate(hidden))
    self._tab_to('node.id === "question"')
    self.browser.type('   ')
    self.browser.press('Enter')
    (error,) = self.browser.wait(
      '[...document.querySelectorAll("#ask-error")].map((n) => n.innerText)'
      '.filter(Boolean).length && '
      '[document.getElementById("ask-error").innerText]'
    )
    self.assertEqual(error, 'A question must not be empty.')
    self._check_accessible(1280)

  def test_has_a_form_for_the_token(self):
    self._show(self._serve(handlers.Settings(token=_TOKEN)))
    self.browser.wait('!document.getElementById("token-form").hidden')
    self._check_accessible(1280)
    self._tab_to('node.id === "token"')
    self.browser.type(_TOKEN)
    self.browser.press('Enter')
    self.browser.wait('document.getElementById("token-form").hidden')
    self._submit('question', 'a b ?', 'evidence')
    self.assertLen(self._text('#blocks li'), 3)


if __name__ == '__main__':
  absltest.main()
