"""Decides which words of a wikitext link a reader sees."""

import re

_BAR = '\ue002'  # Of the template {{!}}.
_NAMESPACES = frozenset(
  """
  category file image media bild datei fichier archivo imagen ficheiro kategorie
  catégorie categoría categoria categorie kategori kategoria категория файл
  """.split()
)
_FILE = re.compile(
  r'[^:\n]+:[^\n]+\.(djvu|flac|gif|jpe?g|mid|mp3|og[agv]|pdf|png|stl|svg|tiff?|'
  r'wav|webm|webp|xcf)\s*$',
  re.IGNORECASE,
)
# Prefixes of Wikipedias: '[[de:Bern]]' is a note to the software.
_LANGUAGES = frozenset(
  """
  aa ab ace ady af ak als alt am ami an ang anp ar arc ary arz as ast atj av avk
  awa ay az azb ba ban bar bat-smg bcl be be-tarask be-x-old bg bh bi bjn blk bm
  bn bo bpy br bs bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs
  csb cu cv cy da dag de dga din diq dsb dty dv dz ee el eml en eo es et eu ext
  fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn
  gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy
  hyw hz ia id ie ig ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp
  kcg kg ki kj kk kl km kn ko koi kr krc ks ksh ku kv kw ky la lad lb lbe lez
  lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi
  min mk ml mn mni mnw mo mr mrj ms mt mus mwl my myv mzn na nah nan nap nb nds
  nds-nl ne new ng nia nl nn no nov nqo nrm nso nv ny oc olo om or os pa pag pam
  pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup
  roa-tara ru rue rw sa sah sat sc scn sco sd se sg sh shi shn shy si simple sk
  skr sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta tay tcy te tet tg
  th ti tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec
  vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zh zh-classical
  zh-min-nan zh-yue zu
  """.split()
)
_OTHER_WIKIS = frozenset(
  """
  b c commons d foundation m meta mw n q s species v voy w wikibooks wikidata
  wikinews wikipedia wikiquote wikisource wikispecies wikiversity wikivoyage
  wikt wiktionary
  """.split()
)
_IN_BRACKETS = re.compile(r'\s*\([^()]*\)$')


def words(parts: list[str]) -> str:
  """Returns the words of '[[title|words]]', given its parts between bars."""
  if len(parts) == 1 and _BAR in parts[0]:
    parts = parts[0].split(_BAR)
  title = parts[0].strip().replace('_', ' ')
  name = title.lstrip(': ')
  prefix, _, rest = name.partition(':')
  prefix = prefix.strip()
  text = ' '.join(part for part in parts[1:] if part)
  if rest:
    if _is_hidden(name):
      return text if title[0] == ':' else ''
    if prefix.lower() in _LANGUAGES and not (
      prefix[0].isupper() and rest[0] == ' '  # '[[It: Chapter Two]]'.
    ):
      return (text or rest) if title[0] == ':' else ''
    if prefix.lower() in _OTHER_WIKIS:
      # Also through several: '[[:w:de:Bern]]'.
      return text or rest.rpartition(':')[2]
  if len(parts) > 1:
    return text or _IN_BRACKETS.sub('', name)
  return name


def unclosed(parts: list[str]) -> str:
  """Returns the words of a link without an end; a file's line goes."""
  if _is_hidden(parts[0]):
    _, newline, rest = ' '.join(parts).partition('\n')
    return newline + rest
  return ' '.join(parts[1:] or parts)


def _is_hidden(title: str) -> bool:
  prefix = title.partition(':')[0].strip(' :_').lower()
  return prefix in _NAMESPACES or bool(_FILE.match(title.lstrip(': ')))
