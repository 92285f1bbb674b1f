"""Tests of the page in headless Chromium."""

import dataclasses
import os
import tempfile

from absl.testing import absltest

from realm_tf.corpus import sources
from realm_tf.qa import calibration
from realm_tf.qa import masked_sentences
from realm_tf.serving import handlers
from realm_tf.serving import served_model
from realm_tf.serving import service as service_lib
from tests import tiny
from tests.serving import browser as browser_lib
from tests.serving import running_server
from tests.serving import small_models

_WIDE, _NARROW = 1280, 390
_HEIGHT = 844
_TOKEN = 'a-token-of-24-characters'
_ADDRESS = 'https://example.org/' + 'long/' * 20
_ARTICLES = (
  sources.Article('Lima', 'A b. C d.', 'first'),
  sources.Article('Limón', 'E f. A c.', 'second'),
  sources.Article('Oran', 'B d. C e. D f. E a.', _ADDRESS),
)
_EXAMPLES = {'questions': ['a b ?', 'c d ?'], 'masked': ['a [MASK] [MASK] d']}
_STARTED = '!!document.querySelector("#examples[data-mode]")'
_ANSWERED = (
  '!document.querySelector("[aria-busy]") && '
  '!!document.querySelector("#status > *")'
)
_FAILED = '!!document.querySelector("#error > *")'


@absltest.skipIf(browser_lib.find() is None, 'No Chromium is installed.')
class PageTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    corpus_dir = tiny.write_corpus(directory, _ARTICLES)
    model_dir, pretrained = (os.path.join(directory, d) for d in ('qa', 'lm'))
    small_models.write(model_dir, corpus_dir)
    small_models.write(pretrained, corpus_dir, small_models.PRETRAINED)
    cls.completer = masked_sentences.load(pretrained, corpus_dir)
    cls.completer.complete(*_EXAMPLES['masked'])  # Compiles it.
    cls.model = served_model.load(model_dir, corpus_dir, allow_edits=True)
    profile = os.path.join(directory, 'profile')
    cls.browser = browser_lib.Browser(browser_lib.find(), profile)
    cls.addClassCleanup(cls.browser.close)

  def _serve(
    self, completer=None, allow_edits=False, answerer=None, **settings
  ):
    model = self.model if allow_edits else self.model._replace(edits=None)
    model = model._replace(answerer=answerer or model.answerer)
    service = service_lib.Service(
      running_server.live(model), completer=completer
    )
    self.running = self.enter_context(
      running_server.run(service, handlers.Settings(**settings))
    )
    return f'http://127.0.0.1:{self.running.client.port}/'

  def _show(self, url, width=_WIDE, until=_STARTED):
    self.browser.messages.clear()
    self.browser.show(url, width, _HEIGHT, 'light')
    self.browser.wait(until)

  def _text(self, selector):
    return self.browser.evaluate(
      f'[...document.querySelectorAll({selector!r})].map((n) => n.innerText)'
    )

  def _address(self):
    return self.browser.evaluate('location.search')

  def _tab_to(self, condition):
    """Presses Tab until `condition` is true for the focused element `node`."""
    for _ in range(40):
      self.browser.press('Tab')
      found = f'((node) => {condition})(document.activeElement)'
      if self.browser.evaluate(found):
        return
    self.fail(f'Tab does not lead to: {condition}')

  def _press_on(self, text, until=_ANSWERED):
    """Tabs to the element with `text`, and presses Enter."""
    self._tab_to(f'node.innerText === {text!r}')
    self.browser.press('Enter')
    self.browser.wait(until)

  def _submit(self, text, until=_ANSWERED):
    self._tab_to('node.id === "text"')
    self.browser.evaluate('document.activeElement.select()')
    self.browser.type(text)
    self.browser.press('Enter')
    self.browser.wait(until)

  def _check_accessible(self):
    before = self.browser.evaluate('innerWidth')
    for width in (_WIDE + _NARROW - before, before):
      self.browser.resize(width, _HEIGHT)
      found = self.browser.evaluate('document.documentElement.scrollWidth')
      self.assertEqual(found, width)
      for scheme in ('dark', 'light'):
        self.browser.prefer(scheme)
        self.assertEmpty(self.browser.violations())

  def _check_no_errors_and_no_foreign_requests(self, url):
    for message in self.browser.messages:
      self.assertNotIn(
        message.get('method'), ('Log.entryAdded', 'Runtime.exceptionThrown')
      )
      if message.get('method') == 'Network.requestWillBeSent':
        requested = message['params']['request']['url']
        self.assertStartsWith(requested.replace('data:,', url), url)

  def test_asks_an_example_with_the_keyboard_alone(self):
    url = self._serve(examples=_EXAMPLES)
    self._show(url, _NARROW)
    self._check_accessible()
    self._press_on('a b ?')
    self.assertEqual(self._address(), '?q=a+b+%3F')
    (answer,) = self._text('#status .answer')
    self.assertEqual(self._text('.source mark'), [answer])
    self.assertEqual(self._text('.sure p'), [''])  # The number is hidden.
    for part in ('.sure', '.steps', '.other'):
      self.browser.evaluate(f'document.querySelector({part!r}).open = true')
    self.browser.wait('!!document.querySelector(".sides")')
    self.assertRegex(self._text('.sure p')[0], r'^\d+\.\d %')
    self.assertEqual(self._text('.steps mark')[0], answer)
    self.assertLen(self._text('.steps li'), 3)  # With the null block.
    shares = self._text('.steps .retriever .number')
    total = sum(float(share.split()[0]) for share in shares)
    self.assertAlmostEqual(total, 100.0, delta=0.2)
    self.assertRegex(self._text('.sum')[0], r'\|x\) = .* % · .* % = \d+\.\d %$')
    heading, given = self._text('.card:has(.badge) > :nth-child(-n + 2)')
    self.assertEqual(heading, 'By embeddings alone this page')
    self.assertEqual(given, answer)
    self._check_accessible()
    self._check_no_errors_and_no_foreign_requests(url)

  def test_completes_a_sentence(self):
    url = self._serve(completer=self.completer, examples=_EXAMPLES)
    self._show(url, _NARROW)
    self._press_on('a ____ d')
    self.assertEqual(self._address(), '?m=a+%5BMASK%5D+%5BMASK%5D+d')
    self.assertLen(self._text('.answer mark'), 2)
    self.browser.evaluate('document.querySelector(".steps").open = true')
    self.assertLen(self._text('.sides dt'), 2 * 2 * 5)  # Sides, masks, words.
    self.assertLen(self._text('.blocks li'), 3)
    self._check_accessible()
    self._check_no_errors_and_no_foreign_requests(url)

  def test_finds_an_article_and_opens_it_at_the_block(self):
    url = self._serve()
    self._show(f'{url}?s=')
    self._submit('LIMO')
    self.assertEqual(self._text('.titles a'), ['Limón'])
    self._submit('oran')
    self.assertLen(self._text('.blocks li'), 2)
    self._check_accessible()
    self.browser.evaluate('document.querySelector(".blocks a").click()')
    self.browser.wait('!!document.querySelector(".here")')
    self.assertEqual(self._text('#status h2'), ['Oran'])
    self.assertEqual(self._text('#rest .text'), ['B d. C e.', 'D f. E a.'])
    self.assertIn(self._address(), ('?block=2', '?block=3'))
    source = 'document.querySelector("#rest a").href'
    self.assertEqual(self.browser.evaluate(source), _ADDRESS)
    self._check_accessible()
    self._check_no_errors_and_no_foreign_requests(url)

  def test_a_refused_answer_comes_after_the_refusal(self):
    answerer = dataclasses.replace(
      self.model.answerer, confidence=calibration.Confidence(threshold=1.0)
    )
    url = self._serve(answerer=answerer)
    self._show(f'{url}?q=a+b+%3F', _NARROW, until=_ANSWERED)
    self.assertEqual(
      self._text('.answer'), ['The corpus does not seem to say.']
    )
    (answer,) = answerer.answer(['a b ?'])
    self.assertEqual(self._text('.guess'), [answer.prediction])
    self._check_accessible()

  def test_an_address_is_a_state_and_back_leads_to_the_one_before(self):
    url = self._serve()
    self._show(f'{url}?q=a+b+%3F', until=_ANSWERED)
    answer = self._text('.answer')
    title = 'document.title'
    self.assertEqual(self.browser.evaluate(title), 'a b ? – REALM')
    self._submit('c d ?', until=f'{title} === "c d ? – REALM" && {_ANSWERED}')
    self.browser.evaluate('history.back()')
    self.browser.wait(f'{title} === "a b ? – REALM" && {_ANSWERED}')
    self.assertEqual(self._text('.answer'), answer)
    value = 'document.getElementById("text").value'
    self.assertEqual(self.browser.evaluate(value), 'a b ?')

  def test_edits_a_block(self):
    url = self._serve(allow_edits=True)
    self._show(url, _NARROW)
    self._submit('a b ?')
    first = '.steps li:first-child'
    (block,) = self.browser.evaluate(
      f'[document.querySelector({first!r}).dataset.block]'
    )
    self._tab_to('node.innerText === "Change the text"')
    self.browser.press('Enter')
    self.browser.press('Escape')
    self.assertEmpty(self._text('textarea'))
    self.browser.press('Enter')  # Escape restored the focus.
    self._check_accessible()
    self.browser.evaluate('document.activeElement.select()')
    text = '<img src=x onerror=alert(1)> \U0001f600 e f.'
    self.browser.type(text)
    self._press_on(
      'Save and ask again',
      until=f'!document.querySelector("textarea") && {_ANSWERED}',
    )
    shown = self._text(f'[data-block="{block}"] .text')
    self.assertIn(shown, ([], [text]))  # The block may be read no more.
    self.assertEmpty(self._text('img'))
    self._check_accessible()
    self._check_no_errors_and_no_foreign_requests(url)
    for block_id in [*self.model.edits.table.changed]:
      self.model.edits.change(block_id, None)  # All tests share the model.

  def test_marks_count_characters_not_utf_16_units(self):
    self._show(self._serve())
    self.assertEqual(
      self.browser.evaluate(
        r'import("./dom.js").then((dom) => '
        r'dom.marked("\u{1f600}\u{1f600} yes. No.", 3, 6, [1, 7]))'
        '.then((p) => [p.innerText, p.querySelector("mark").innerText])'
      ),
      ['\U0001f600 yes.', 'yes'],
    )

  def test_hides_missing_features_and_shows_errors(self):
    self._show(self._serve())
    self.assertEqual(self._text('nav a:not([hidden])'), ['Ask', 'Look up'])
    self.assertEmpty(self._text('#examples *'))
    self._submit('   ', until=_FAILED)
    (error,) = self._text('#error')
    self.assertEqual(
      error, '`$.question` must not be empty, and have no control characters.'
    )
    self._check_accessible()

  def test_a_server_that_is_gone_can_be_asked_again(self):
    self._show(self._serve())
    self.running.server.end()
    self.running.thread.join()
    self._submit('a b ?', until=_FAILED)
    self.assertEqual(self._text('#error p'), ['The server does not answer.'])
    self.assertEqual(self._text('#error button'), ['Try again'])
    self._check_accessible()

  def test_has_a_form_for_the_token(self):
    url = self._serve(token=_TOKEN, examples=_EXAMPLES)
    waits = '!document.getElementById("token-form").hidden'
    self._show(f'{url}?q=a+b+%3F', until=waits)
    self._check_accessible()
    self._tab_to('node.id === "token"')
    self.browser.type(_TOKEN)
    self.browser.press('Enter')
    self.browser.wait(_ANSWERED)  # The question of the address.
    self.assertLen(self._text('.answer'), 1)


if __name__ == '__main__':
  absltest.main()
