"""Computes the facts about cities from the rows of the tables.

Most facts follow from coordinates and ranks, so a model can only guess them
without the article. "Nearest" is among cities with an article; ranks are among
all cities of the country.
"""

from collections.abc import Iterator, Mapping, Sequence
import random
from typing import Optional

import numpy as np

from realm_tf.world import gazetteer
from realm_tf.world import measures

City = gazetteer.City
Fact = gazetteer.Fact


def city_entities(
  places: gazetteer.Places, seed: int
) -> Iterator[gazetteer.Entity]:
  """Yields an entity per listed city."""
  listed = places.listed
  points = _points(listed)
  distances = measures.distances_km(points, points)  # [N, N]
  np.fill_diagonal(distances, np.inf)
  codes = np.array([city.countrycode for city in listed])
  abroad = np.where(codes[:, None] == codes[None, :], np.inf, distances)
  in_country = _by_country(places.cities)
  for i, city in enumerate(listed):
    compatriots = in_country[city.countrycode]
    facts = [
      *_table_facts(city, places.countries, seed),
      *_nearest_facts(listed, distances[i], abroad[i]),
      *_rank_facts(city, compatriots),
      *_capital_facts(city, places.countries, compatriots),
    ]
    yield gazetteer.Entity(
      f'city/{city.geonameid}',
      city.name,
      'city',
      tuple(facts),
      gazetteer.city_aliases(city.name),
    )


def _table_facts(
  city: City, countries: Mapping[str, gazetteer.Entity], seed: int
) -> Iterator[Fact]:
  yield Fact('country', (countries[city.countrycode].name,))
  yield Fact('population', (measures.rounded_count(city.population),))
  yield Fact('timezone', (city.timezone,))
  yield Fact('latitude', (measures.latitude(city.latitude),))
  names = _distinct_names(city)
  if names:
    rng = random.Random(f'{seed}/other_name/{city.geonameid}')
    yield Fact('other_name', (rng.choice(names),))


def _distinct_names(city: City) -> list[str]:
  own = gazetteer.fold(city.name)
  # Short names and capitals are airport codes or abbreviations.
  return [
    name
    for name in city.alternatenames
    if 4 <= len(name) <= 20
    and name[0].isupper()
    and not name.isupper()
    and gazetteer.is_usable_name(name)
    and name.count(' ') <= 1
    and "'" not in name
    and own not in (folded := gazetteer.fold(name))
    and folded not in own
  ]


def _nearest_facts(
  listed: Sequence[City], distances: np.ndarray, abroad: np.ndarray
) -> Iterator[Fact]:
  nearest = int(np.argmin(distances))
  if np.isfinite(distances[nearest]):
    yield Fact('nearest_city', (listed[nearest].name,))
    yield Fact('nearest_distance', (measures.kilometres(distances[nearest]),))
  foreign = int(np.argmin(abroad))
  if np.isfinite(abroad[foreign]):
    yield Fact('foreign_city', (listed[foreign].name,))


def _rank_facts(city: City, compatriots: Sequence[City]) -> Iterator[Fact]:
  rank = compatriots.index(city)
  yield Fact('rank', (str(rank + 1),))
  if rank:
    larger = compatriots[rank - 1].name
    if gazetteer.is_usable_name(larger) and gazetteer.fold(
      larger
    ) != gazetteer.fold(city.name):
      yield Fact('next_larger', (larger,))


def _capital_facts(
  city: City,
  countries: Mapping[str, gazetteer.Entity],
  compatriots: Sequence[City],
) -> Iterator[Fact]:
  capital = _find_capital(countries[city.countrycode], compatriots)
  if capital is None or capital == city:
    return
  here, there = _points([city, capital])
  distance = float(measures.distances_km(here, there)[0, 0])
  yield Fact('capital_distance', (measures.kilometres(distance),))
  yield Fact('direction', (measures.compass_direction(there, here),))


def _find_capital(
  country: gazetteer.Entity, cities: Sequence[City]
) -> Optional[City]:
  """Returns the largest city with the capital's name, also as a second name."""
  for capital in map(gazetteer.fold, country.values('capital')):
    for city in cities:
      if gazetteer.fold(city.name) == capital:
        return city
    for city in cities:
      if capital in map(gazetteer.fold, city.alternatenames):
        return city
  return None


def _points(cities: Sequence[City]) -> np.ndarray:
  return np.array([[c.latitude, c.longitude] for c in cities])


def _by_country(cities: Sequence[City]) -> dict[str, list[City]]:
  grouped: dict[str, list[City]] = {}
  for city in cities:
    grouped.setdefault(city.countrycode, []).append(city)
  return grouped
