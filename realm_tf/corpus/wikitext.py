"""Wikitext -> the words that a reader sees, and the titles it links to.

Only this file imports mwparserfromhell. Hostile markup may take it minutes, so
`mediawiki` calls it in worker processes with a limit of time.
"""

from collections.abc import Callable, Iterator
import html
import re
from typing import Any

import mwparserfromhell
from mwparserfromhell import nodes

from realm_tf.corpus import article_records
from realm_tf.corpus import wiki_templates as templates

Article = article_records.Article
DISAMBIGUATION = 'disambiguation'
_MAX_CHARACTERS = 2_000_000  # MediaWiki's own limit is 2 MiB.

_EXPONENT = re.compile(
  r'<sup(?:\s[^<>]*)?>((?:[\d+−–-]|&minus;){1,40})</sup\s*>', re.IGNORECASE
)
_SIMPLE_FORMULA = re.compile(r'[\w +=<>.,()*!−-]{1,40}')

HIDDEN_TAGS = frozenset(
  """categorytree gallery graph imagemap includeonly inputbox mapframe maplink
  noinclude pre ref references section table templatedata templatestyles
  timeline""".split()
)
FORMULAS = frozenset('ce chem hiero math score source syntaxhighlight'.split())
LINE_TAGS = frozenset(
  """blockquote br caption center dd div dl dt gallery h1 h2 h3 h4 h5 h6 hr li
  ol p poem pre table tbody td th thead tr ul""".split()
)
WORD_TAGS = frozenset(
  """a abbr b bdi bdo big blink cite code col colgroup data del dfn em font i
  img indicator ins kbd link mark meta nobr nowiki onlyinclude q rb rp rt ruby s
  samp small span strike strong style sub sup tfoot time translate tt tvar u var
  wbr""".split()
)
_KNOWN_TAGS = HIDDEN_TAGS | FORMULAS | LINE_TAGS | WORD_TAGS
TAG = re.compile(r'<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[\s/][^<>]*)?)>')
_REFERENCE = re.compile(r'&(?:#?\w{1,16});')

_FILE_OR_CATEGORY = re.compile(
  r'(?:archivo|bild|categor[ií]a|categorie|category|catégorie|datei|ficheiro|'
  r'fichier|file|image|imagen|kategori[ae]?|media|категория|файл)\s*:'
  r'|[^:\n]+:[^\n]+\.(?:djvu|flac|gif|jpe?g|og[agv]|pdf|png|svg|tiff?|webm)\s*$',
  re.IGNORECASE,
)
_LANGUAGE = re.compile(r'(?:[a-z]{2,3}|[a-z]{2,4}-[a-z-]+|simple):(?=\S)')
_OTHER_WIKI = re.compile(r'(?:w|s|d|c|q|wikt|wiktionary|commons|wikisource):')
_LINK = re.compile(r'\[\[:?([^\[\]|#<>{}\n]+)(?=[|#]|\]\])')

_SPACES = re.compile(r'[^\S\n]+')
_BEFORE_LINES = (
  # Markup that is not closed.
  (re.compile(r'<ref\b[^\n]*', re.IGNORECASE), ''),
  (re.compile(r'\[\[(?:file|image|category):[^\n]*', re.IGNORECASE), ''),
  (re.compile(r'\{\{[^\n]*'), templates.HOLE),
  (re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|''+|<!--|-->|<nowiki/?"), ''),
  (re.compile(r'__[A-Z]{3,}__'), ''),  # Behavior switches.
  (_SPACES, ' '),
)
# A removed template may leave '( ; born 1900)'. A run of marks matches only at
# its first mark, or the time would be quadratic in its length.
_AFTER_LINES = (
  (re.compile(r' ?[(\[][ ,;:–-]*[)\]]'), ''),
  (re.compile(r'([(\[])[ ,;:]+'), r'\1'),
  (re.compile(r'(?<![ ,;:])[ ,;:]+([)\]])'), r'\1'),
  (re.compile(r'(?<! ) +([,.;:!?)])'), r'\1'),
  (re.compile(r'([,;])[,;]+'), r'\1'),
  (_SPACES, ' '),
)
_ODD_LINE = re.compile(r'[|]|!($|[^\w])|(file|image):[^|\n]*\|', re.IGNORECASE)
_ITEM = re.compile(r'^(?:[*#:;]+|-{4,})\s*')
_HAS_WORD = re.compile(r'\w')


def unescape(text: str) -> str:
  """Replaces '&nbsp;', '&#33;' and, as many are escaped twice, '&amp;lt;'."""
  for _ in range(2):
    if '&' not in text:
      break
    text = _REFERENCE.sub(lambda match: html.unescape(match.group()), text)
  return text


def normal_title(title: str) -> str:
  """Returns a title as MediaWiki compares it: 'the_rain ' is 'The rain'."""
  title = ' '.join(title.replace('_', ' ').split())
  return title[:1].upper() + title[1:]


def linked_titles(markup: str) -> list[str]:
  """Returns the normal titles that wikitext links to, in order.

  Links to other namespaces and wikis are included; no article has such a title.
  """
  return [normal_title(unescape(title)) for title in _LINK.findall(markup)]


def plain_text(markup: str) -> str:
  """Returns the text of a page, one paragraph or list item a line.

  Links and known templates are replaced by their words. Headings, tables,
  references, comments, files and sentences that lose a word are removed.
  """
  # Bold and italic marks are removed as text: parsing them is slow.
  code = mwparserfromhell.parse(raise_exponents(markup), skip_style_tags=True)
  return without_marks(''.join(_pieces(code)))


def without_marks(text: str) -> str:
  """Returns `text` without tags, marks that have no end, and broken sentences.

  The time is linear, unlike the parser's.
  """
  text = TAG.sub(_of_lone_tag, raise_exponents(unescape(text)))
  for pattern, value in _BEFORE_LINES:
    text = pattern.sub(value, text)
  lines = filter(None, map(_line, text.split('\n')))
  text = '\n'.join(map(templates.cut, lines))
  for pattern, value in _AFTER_LINES:
    text = pattern.sub(value, text)
  lines = (line.strip() for line in text.split('\n'))
  return '\n'.join(line for line in lines if _HAS_WORD.search(line))


def _line(line: str) -> str:
  """Returns a line without its marks; '' for a heading or a table's line."""
  line = line.strip()
  if line[:1] == '=' and line.rstrip(f' {templates.HOLE}')[-1:] == '=':
    return ''
  return '' if _ODD_LINE.match(line) else _ITEM.sub('', line, count=1)


def raise_exponents(text: str) -> str:
  """Turns '10<sup>6</sup>' into '10⁶'."""
  return _EXPONENT.sub(
    lambda m: unescape(m[1]).translate(templates.RAISED), text
  )


def _of_lone_tag(match: re.Match) -> str:
  """Returns the words of a tag that has no end; '<b and c>' is none."""
  _, name, attributes = match.groups()
  is_tag = name.lower() in _KNOWN_TAGS and (
    len(name) > 1 or '=' in attributes or not attributes.strip(' /')
  )
  if not is_tag:
    return match.group()
  return '\n' if name.lower() in LINE_TAGS else ''


def _pieces(code: mwparserfromhell.wikicode.Wikicode) -> Iterator[str]:
  """Yields the words of parsed markup; HOLE and LOST mark gaps."""
  before = ''
  for node in code.nodes:
    if isinstance(node, nodes.Text):
      before = node.value
    elif isinstance(node, nodes.HTMLEntity):
      before = str(node)
    elif isinstance(node, nodes.Wikilink):
      before = _of_link(node)
    elif isinstance(node, nodes.ExternalLink):
      text = _text(node.title) if node.title is not None else ''
      before = text if node.brackets else templates.HOLE
    elif isinstance(node, nodes.Tag):
      before = _of_tag(node, before[-1:].isalnum())
    elif isinstance(node, nodes.Template):
      before = _of_template(node)
    elif isinstance(node, nodes.Argument):
      before = templates.HOLE if node.default is None else _text(node.default)
    else:
      continue
    yield before


def _text(code: mwparserfromhell.wikicode.Wikicode) -> str:
  return ''.join(_pieces(code)).strip()


def _of_link(node: nodes.Wikilink) -> str:
  title = str(node.title).strip().replace('_', ' ')
  text = _text(node.text) if node.text is not None else ''
  name = title.lstrip(': ')
  is_hidden = _FILE_OR_CATEGORY.match(name)
  if is_hidden or _LANGUAGE.match(name):
    shown = text or name.partition(':')[2] * (not is_hidden)
    return shown if title[:1] == ':' else ''
  if '|' in text and not _HAS_WORD.search(text):
    text = ''
  return text or (name.rpartition(':')[2] if _OTHER_WIKI.match(name) else name)


def _of_tag(node: nodes.Tag, follows_word: bool) -> str:
  """Returns the words of a tag, a table or the mark of a list."""
  name = str(node.tag).strip().lower()
  if node.wiki_markup and node.self_closing:
    return str(node.wiki_markup)  # Of a list.
  mark = '\n' if name in LINE_TAGS and not node.wiki_markup else ''
  if name in HIDDEN_TAGS or node.contents is None:
    return mark
  text = ''.join(_pieces(node.contents))
  if name in FORMULAS:
    if follows_word:
      return templates.HOLE
    text = templates.raise_digits(r'\^(\d)', text.strip())
    return text if _SIMPLE_FORMULA.fullmatch(text) else templates.LOST
  return f'{mark}{text}{mark}'


def _of_template(node: nodes.Template) -> str:
  return templates.words(
    str(node.name),
    lambda: {
      str(each.name).strip().lower(): _text(each.value) for each in node.params
    },
  )


# Disambiguation and name pages, by their templates and categories.
# An unclosed comment hides the rest of the page.
_UNREAD = re.compile(
  r'<!--.*?(?:-->|\Z)|<nowiki>.*?</nowiki>|<pre\b[^<>/]*>.*?</pre>',
  re.IGNORECASE | re.DOTALL,
)
_TEMPLATE = re.compile(r'\{\{([^{}|<>\[\]\n]{1,80})(?=\s*[|}<\n])')
_CATEGORY_LINK = re.compile(r'\[\[([^\[\]|\n:]{1,40}):([^\[\]|\n]{1,120})[|\]]')
_PREFIX = re.compile(r'(?:template|subst|safesubst|vorlage|msg)\s*:\s*')
_NAMES = re.compile(
  r'aimai|airportdis|anlam ayrımı|begriffsklärung|bio-dab|bisongidila|'
  r'dab(?: page|-?clean(?:up)?|page)?|desambig(?:uació|uación|uação)?|disamb?|'
  r'disambigua|dmbox|doorverwijspagina|dp|egyért(?:elműsítő lap)?|flertydig|'
  r'(?:family |fore|sur|given ?)names?(?: page)?|förgrening|gren|homonymie|'
  r'(?:geo|hn|math|name|num|mil-unit-|n|r)-?(?:dab|dis)(?:ambig|-cleanup)?|'
  r'(?:hospital|mountain|number|road|school|ship|tn)dis|peker|rozcestník|'
  r'trang định hướng|täsmennyssivu|ujednoznacznienie|багатозначність|'
  r'неоднозначность|曖昧さ回避|消歧[义義]|동음이의'
)
_FAMILY = re.compile(
  r'(?P<kind>.*?)[ -]?disambig(?:uation)?(?: page)?(?:[ -]cleanup)?'
)
# '{{disambiguation needed}}' only refers to such a page.
_NO_KIND = re.compile(
  r'(?:no|not|non|need|needs|needing|missing|for|see|about|redirect|r|to|from|'
  r'incomplete|other|hatnote|wikiproject|user|template|link|use|unlinked|'
  r'refimprove|clarify|check|request|requested|expand|avoid|without|category|'
  r'portal|more|tfd|otheruses|distinguish|wikipedia|help|wp|tl|self|bad|fix|word|entity|author)\b.*'
)
_CATEGORY = re.compile(
  r'(?!.*(?:needing|needed|links?|articles with|wikipedia|wikiproject))'
  r'(?:(?:.* )?disambiguation pages?(?: .*)?|disambiguation|'
  r'.*begriffsklärung.*|.*homonymie.*|.*desambigua.*)'
)


def is_disambiguation(markup: str) -> bool:
  """Returns whether a page with `markup` is a disambiguation page."""
  markup = _UNREAD.sub('', markup)
  for name in map(_normal, _TEMPLATE.findall(markup)):
    family = _FAMILY.fullmatch(name)
    if _NAMES.fullmatch(name) or family and not _NO_KIND.fullmatch(family[1]):
      return True
  return '__DISAMBIG__' in markup or any(
    _normal(namespace) == 'category' and _CATEGORY.fullmatch(_normal(name))
    for namespace, name in _CATEGORY_LINK.findall(markup)
  )


def _normal(name: str) -> str:
  """Returns a template's or category's name in lower case, without prefix."""
  name = ' '.join(name.replace('_', ' ').split()).lower()
  return _PREFIX.sub('', name, count=1)


def renderer() -> Callable[[Any], tuple[str, Article | str]]:
  """Returns the work of a process: (place, page) -> (place, article or reason).

  A page that is left out gets the reason.
  """
  return _rendered


def _rendered(placed: tuple[str, Article]) -> tuple[str, Article | str]:
  where, page = placed
  if len(page.text) > _MAX_CHARACTERS:
    return where, f'page over {_MAX_CHARACTERS:,} characters'
  if is_disambiguation(page.text):
    return where, DISAMBIGUATION
  try:
    text = plain_text(page.text)
  except (mwparserfromhell.parser.ParserError, RecursionError):
    return where, 'page nested too deeply'
  links = (*page.links, *linked_titles(page.text))
  return where, page._replace(text=text, is_wikitext=False, links=links)
