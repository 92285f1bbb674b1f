"""Computes the facts about countries from the rows of the tables."""

from collections.abc import Iterator

import numpy as np

from realm_tf.world import city_facts
from realm_tf.world import gazetteer
from realm_tf.world import measures

Fact = gazetteer.Fact

# ISO 639-1 codes of languages that several countries list; others are left out.
_LANGUAGES = dict(
  pair.split('=')
  for pair in """
  af=Afrikaans am=Amharic ar=Arabic az=Azerbaijani be=Belarusian bg=Bulgarian
  bn=Bengali bs=Bosnian ca=Catalan cs=Czech cy=Welsh da=Danish de=German
  dv=Dhivehi dz=Dzongkha el=Greek en=English es=Spanish et=Estonian eu=Basque
  fa=Persian fi=Finnish fj=Fijian fo=Faroese fr=French ga=Irish gl=Galician
  gn=Guarani ha=Hausa he=Hebrew hi=Hindi hr=Croatian ht=Haitian hu=Hungarian
  hy=Armenian id=Indonesian is=Icelandic it=Italian ja=Japanese ka=Georgian
  kk=Kazakh kl=Greenlandic km=Khmer ko=Korean ku=Kurdish ky=Kyrgyz
  lb=Luxembourgish ln=Lingala lo=Lao lt=Lithuanian lv=Latvian mg=Malagasy
  mh=Marshallese mi=Maori mk=Macedonian mn=Mongolian ms=Malay mt=Maltese
  my=Burmese na=Nauruan ne=Nepali nl=Dutch no=Norwegian pl=Polish ps=Pashto
  pt=Portuguese qu=Quechua rm=Romansh ro=Romanian ru=Russian rw=Kinyarwanda
  si=Sinhala sk=Slovak sl=Slovenian sm=Samoan so=Somali sq=Albanian sr=Serbian
  sv=Swedish sw=Swahili ta=Tamil tg=Tajik th=Thai ti=Tigrinya tk=Turkmen
  to=Tongan tr=Turkish uk=Ukrainian ur=Urdu uz=Uzbek vi=Vietnamese wo=Wolof
  xh=Xhosa zh=Chinese zu=Zulu
  """.split()
)


def country_entities(places: gazetteer.Places) -> Iterator[gazetteer.Entity]:
  """Yields an entity per country."""
  cities = {}
  for city in places.cities:
    cities.setdefault(city.country_code, []).append(city)
  nearest_capitals = _nearest_capitals(places, cities)
  for code, country in places.countries.items():
    facts = (
      *_table_facts(country, places.countries),
      *_number_facts(country),
      *_city_facts(cities.get(code, [])),
      *nearest_capitals.get(code, ()),
    )
    yield gazetteer.Entity(f'country/{code}', country.name, 'country', facts)


def _table_facts(country, countries):
  neighbours = sorted(
    countries[code].name for code in country.neighbours if code in countries
  )
  languages = list(
    dict.fromkeys(
      _LANGUAGES[code] for code in country.language_codes if code in _LANGUAGES
    )
  )
  single = (
    ('capital', country.capital),
    ('continent', country.continent),
    ('currency', country.currency),
    ('phone_code', country.phone_code),
    ('domain', country.domain),
    ('iso_code', country.iso3),
    ('num_neighbours', str(len(neighbours)) if len(neighbours) > 1 else ''),
  )
  for relation, value in single:
    if value:
      yield Fact(relation, (value,))
  if neighbours:
    yield Fact('neighbours', tuple(neighbours))
  if languages:
    yield Fact('languages', tuple(languages[:4]))


def _number_facts(country):
  if country.population:
    yield Fact('population', (measures.rounded_count(country.population),))
  if country.area_km2:
    yield Fact(
      'area',
      (measures.rounded_count(country.area_km2),),
      ('square kilometres',),
    )
  if country.population and country.area_km2:
    density = country.population / country.area_km2
    yield Fact('density', (measures.rounded_count(density),), ('people',))


def _city_facts(cities):
  """Yields facts about the country's cities, which come largest first."""
  named = list(zip(('largest_city', 'second_city'), cities))
  if len(cities) > 2:
    northward = lambda city: city.latitude
    named.append(('northernmost', max(cities, key=northward)))
    named.append(('southernmost', min(cities, key=northward)))
  for relation, city in named:
    if gazetteer.is_usable_name(city.name):
      yield Fact(relation, (city.name,))


def _nearest_capitals(places, cities):
  """Returns country code -> facts about the nearest foreign capital."""
  capitals = {}
  for code, country in places.countries.items():
    city = city_facts.find_capital(country, cities.get(code, []))
    if city is not None:
      capitals[code] = city
  codes = list(capitals)
  points = np.array([[c.latitude, c.longitude] for c in capitals.values()])
  distances = measures.distances_km(points, points)  # [C, C]
  np.fill_diagonal(distances, np.inf)
  nearest = np.argmin(distances, axis=1)
  return {
    code: (
      Fact('nearest_capital', (places.countries[codes[nearest[i]]].capital,)),
      Fact(
        'nearest_capital_distance',
        (measures.kilometres(distances[i, nearest[i]]),),
        ('km',),
      ),
    )
    for i, code in enumerate(codes)
  }
