"""English words that are no names, though a sentence may begin with them.

Function words, numerals, and the days and months that `dates` tags where they
are part of a date.
"""

_WORDS = """
  a about above according across after again against all almost along
  already also although always am among an and another any anyone are around
  as at away back be because been before behind being below beneath beside
  besides between beyond both but by can cannot concerning contrary could
  critics did do does done due during each early eight either else even
  eventually ever every everyone everything except few finally first five
  following for former formerly four from further furthermore given had has
  have having he hence her here hers him his how however i if in including
  indeed initially inside instead into is it its itself just last late later
  least less let like likewise long many may me meanwhile might mine more
  moreover most mr much must my near nearly neither never nevertheless next
  nine no nobody none nor not notable nothing now of off often on once one
  only onto or originally other others otherwise our out outside over own
  part per perhaps prior quite rather recently regarding respectively same
  scholars see seven several shall she should similar similarly since six so
  some someone something sometimes soon still subsequently such ten than
  that the their them then there thereafter therefore these they this those
  though three through throughout thus to together too toward towards
  traditionally two under unlike until up upon us usually very via was we
  well were what when whenever where whereas wherever whether which while
  who whom whose why will with within without would yes yet you your
"""

_DAYS = """
  monday tuesday wednesday thursday friday saturday sunday
"""

# Without May, which is a word above, and a name.
_MONTHS = """
  january february march april june july august september october november
  december
"""

LOWER_WORDS = frozenset(f'{_WORDS} {_DAYS} {_MONTHS}'.split())
