"""Names of MediaWiki's templates, by what they leave in a sentence."""

from realm_tf.wiki.template_call import split_names

# Their first argument, or `text=`, is displayed.
FIRST = (
  'nowrap, nowr, nobr, nobreak, no wrap, nwr, j, small, smaller, smalldiv, big',
  'bigger, larger, large, huge, midsize, normal, nobold, noitalic, noital, em',
  'strong, italic, italics, bold, code, mono, key, keypress, key press, kbd',
  'samp, var, abbr, abbrv, abbreviation, abbrlink, tooltip, define, dfn',
  'hover title, hover text, vanchor, visible anchor, unicode, polytonic, sc',
  'smallcaps, small caps, smallcaps all, caps, sc2, tl, tlx, tlc, marriage',
  'as written, aut, sub, subscript, u, underline, ul, center, centre, longitem',
  'nastaliq, flag, flagcountry, flagu, flag+link, flag link, quote, blockquote',
  'bquote, cquote, rquote, quotation, quote frame, poem quote, poemquote',
  'block quote, pull quote, centered pull quote, circled, overline',
  'translation, literal translation, lit, tlit, gloss, hiero text, music note',
  'bo-textonly, spell, allow wrap, avoid wrap, nobel abbr, keyboard, pslink',
  'section link, strike, chinese title, okina text, title case, highlight, hl',
  'em text',
)
SECOND = (
  'lang, langx, lang-x, langr, rtl-lang, ltr-lang, native name, native phrase',
  'script, wikt-lang, wt, m, font color, background color, fontcolor',
  'color box text, glink, gli, glossary link, bg, fgcolor, color text',
)
LAST = (
  'transl, transliteration, translit, resize, font, size, fs, fontsize, nom',
)
SHIPS = (
  'ship, uss, hms, hmas, hmcs, hmnzs, hmis, ins, ss, ms, mv, rms, sms, rmms',
  'uscgc, usns, usat, usrc, css, hnlms, hnoms, hswms, hdms, hmt, hmhs, rv, gts',
  'ps, sv, mt, my, usav, usc&gs, hmps, rfa, hmsas, jds, orp, tcg',
)
# What is displayed -> its template.
_CHARACTERS = {
  ' ': 'nbsp, space, spaces, nbs, thinsp, thin space, nnbsp, hair space, hsp',
  ' – ': 'snd, spaced ndash, spnd, ndash spaced, snds, spaced en dash, dash',
  '–': 'ndash, en dash, endash',
  '—': 'mdash, em dash, emdash, mdashb, spaced mdash',
  "'": "', apostrophe",
  "'s": "'s",
  '"': '"',
  '\'"': '\'", \' "',
  '"\'': '"\', " \', -"',
  '=': '=, equals',
  '\ue002': '!, pipe, !!',
  ' · ': '·, dot, middot, •, bull, bullet, dot dash',
  '…': '..., ellipsis, …',
  '−': 'minus, −',
  '×': 'times',
  '°': 'deg, degree',
  '♭': 'flat, b',
  '♯': 'sharp, #',
  'π': 'pi',
  'μ': 'mu',
  'BC': 'bc',
  'AD': 'ad',
  'BCE': 'bce',
}
CHARACTERS = {
  name: shown
  for shown, names in _CHARACTERS.items()
  for name in split_names(names)
}
_INVISIBLE = frozenset(
  split_names(
    '-, about, ambiguous, anchor, anchors, attribution needed, audio',
    'authority control, better source, break, bots, by whom, chart',
    'circular reference, citation, citation-needed, cite, citeref, clade',
    'clarify, clear, clr, cn, col-begin, col-break, col-end, colbegin, colend',
    'columns-list, columns, commons, commons cat, commonscat',
    'contradict-inline, coord missing, crossref, dead link, deadlink, dead',
    'decrease, defaultsort, details, discuss, displaytitle, distinguish',
    'div col, div col end, end div col, doi, double image, dubious, efn',
    'elucidate, em note, engvarb, eqm, fact, failed verification',
    'featured article, fix, flag icon, flagdeco, flagicon, flagicon image, fn',
    'fnb, footnote, for, full, further, gallery, gbooks, geographic location',
    'good article, google books, gr, hatnote, how, hs, icd10, icd9, icon',
    'if pagename, image frame, increase, inflation-fn, inflation-year, isbn',
    'issn, italic title, italictitle, kml, legend, listen, location map',
    'lowercase, lowercase title, lsj, main, mainarticle, maplink, map caption',
    'medical citation needed, more footnotes, multiple image, multiple issues',
    'navbox, navboxes, neutrality, nomorelinks, note, not verified in body',
    'notelist, notes, nowikidatalink, ntsh, oclc, official website, op, or',
    'original research, panorama, plainlist, endplainlist, portal, portal bar',
    'pov, pronunciation, r, ran, redirect, redirect2, ref, ref label, refbegin',
    'refend, refimprove, reflist, refn, related articles, respell, rp, scref',
    'see, see also, seealso, short description, side box, sidebar, sisterlinks',
    'sister project links, specify, spoken wikipedia, steady, stub',
    'succession box, taxobox, toc, toc limit, toclimit, tocleft, tocright',
    'tone, unbalanced, undue, unreferenced, unreliable source, update',
    'update after, usurped, vague, verify source, verify credibility, wayback',
    'webarchive, weasel word, weasel-inline, when, where, which, who, whom',
    'why, wide image, wikibooks, wikidata, wikiquote, wikisource, wikispecies',
    'wikivoyage, wiktionary, xref, youtube, end, s-start, s-end, s-bef, s-ttl',
    's-aft, s-off, plainlist end, sfn, sfnp, harvnb, imdb name, vr',
    'inline citation, double check, page needed, disputed, over-quotation',
    'according to whom, like whom, year missing, syn, reference page, rws, snf',
    'listen2, pp, gap, technical, dmoz, in lang, en icon, fr icon',
    'closed access, open access, tick, cross, yes, no, y, n, x mark',
    'check mark, flagathlete note, unsigned',
  )
)
# Beginnings and ends of such names.
_BEGINNINGS = tuple(
  split_names(
    'cite, citation, vcite, harv, sfn, efn, infobox, navbox, pp-, ipa-, ipac-',
    'taxobox, speciesbox, automatic taxobox, commons, wikisource, wiktionary',
    'wikibooks, redirect, refn, col-, stub, unreferenced, primary source',
    'use dmy, use mdy, use british, use american, use australian, use indian',
    'use canadian, notelist, unreliable, librivox, gutenberg, internet archive',
    'imdb, cleanup, find a grave, default, displaytitle, short desc',
    'other uses, other people, toc, clear, more citations, more footnotes',
    'main article, expand, update, coord missing, ref label',
  )
)
_ENDS = (
  '?',
  '-stub',
  '-inline',
  *(
    f' {word}'
    for word in (
      'stub needed sidebar inline topics icon infobox navbox taxobox footer '
      'series section navigation source sources footnotes citations issue '
      'hatnote book category clarify check requested'
    ).split()
  ),
)


def is_invisible(name: str) -> bool:
  """Returns whether a template is a note, a box or a list of links."""
  return (
    name in _INVISIBLE or name.startswith(_BEGINNINGS) or name.endswith(_ENDS)
  )
