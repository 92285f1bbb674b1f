"""Recognizes disambiguation and name pages by templates and categories."""

import re

# Rules out most pages quickly.
_HINT = re.compile(
  r'disambig|\{\{\s?(?:template:\s?)?(?:dab|[\w-]*dis\b|[\w-]*dab\b|surname|given|forename|'
  r'letter|begriffs|homonym|desambig|disambigua|doorverwijs|dp\b|förgren|gren|'
  r'неоднознач|ujednoznacz|rozcestník|egyért|täsmennys|曖昧さ回避|aimai|消歧|'
  r'동음이의|flertydig|peker|anlam|багатознач|định hướng)'
  r'|begriffsklärung|homonymie',
  re.IGNORECASE,
)
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


def is_one(markup: str) -> bool:
  """Returns whether a page with `markup` is a disambiguation page."""
  if not _HINT.search(markup):
    return False
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
