"""Recognizes disambiguation and name pages by templates and categories."""

import re

from realm_tf.wiki import names
from realm_tf.wiki import template_call
from realm_tf.wiki.names import NAMES

# Rules out most pages quickly.
_HINT = re.compile(
  r'disambig|\{\{\s?(?:template:\s?)?(?:dab|[\w-]*dis\b|[\w-]*dab\b|surname|given|forename|'
  r'letter|begriffs|homonym|desambig|disambigua|doorverwijs|dp\b|förgren|gren|'
  r'неоднознач|ujednoznacz|rozcestník|egyért|täsmennys|曖昧さ回避|aimai|消歧|'
  r'동음이의|flertydig|peker|flertydig|anlam|багатознач|định hướng)'
  r'|begriffsklärung|homonymie',
  re.IGNORECASE,
)
_TOKEN = re.compile(
  r'(?P<comment><!--)|(?P<raw><nowiki>|<pre\b[^<>/]*>)'
  r'|\{\{(?P<template>[^{}|<>\[\]\n]{1,80})(?=\s*[|}<\n])'
  r'|\[\[(?P<category>[^\[\]|\n:]{1,40}:[^\[\]|\n]{1,120})(?=[|\]])'
  r'|(?P<word>__DISAMBIG__)',
  re.IGNORECASE,
)
_END = {
  'comment': re.compile(r'-->'),
  'raw': re.compile(r'</(?:nowiki|pre)>', re.IGNORECASE),
}
_NAMES = frozenset(names.split(NAMES['templates']['disambiguation']))
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
  r'(?:.* )?disambiguation pages?(?: .*)?|disambiguation|.*begriffsklärung.*|'
  r'.*homonymie.*|.*desambigua.*'
)
_NO_CATEGORY = re.compile(
  r'.*(?:needing|needed|links?|articles with|wikipedia|wikiproject).*'
)


def is_one(markup: str, category_names: str = '') -> bool:
  """Returns whether a page with `markup` is a disambiguation page.

  `category_names` is a regular expression of the category namespace's names.
  """
  if not _HINT.search(markup) and '__DISAMBIG__' not in markup:
    return False
  is_category = re.compile(
    rf'(?:category|{category_names or "category"})', re.IGNORECASE
  ).fullmatch
  position, missing = 0, set()
  while match := _TOKEN.search(markup, position):
    position, kind = match.end(), match.lastgroup
    if kind in _END:
      end = kind not in missing and _END[kind].search(markup, position)
      if end:
        position = end.end()
      elif kind == 'comment':
        return False  # An unclosed comment hides the rest.
      else:
        missing.add(kind)
    elif kind == 'template':
      if _is_template(template_call.normal(match.group(kind))):
        return True
    elif kind == 'category':
      namespace, _, name = match.group(kind).partition(':')
      name = template_call.normal(name)
      if (
        is_category(namespace.strip())
        and _CATEGORY.fullmatch(name)
        and not _NO_CATEGORY.fullmatch(name)
      ):
        return True
    else:
      return True
  return False


def _is_template(name: str) -> bool:
  if name in _NAMES:
    return True
  family = _FAMILY.fullmatch(name)
  return family is not None and not _NO_KIND.fullmatch(family['kind'])
