"""Distances and directions on the globe, and rounded numbers as text."""

import numpy as np

_EARTH_RADIUS_KM = 6371.0
_COMPASS = (
  'north northeast east southeast south southwest west northwest'.split()
)


def distances_km(origins: np.ndarray, targets: np.ndarray) -> np.ndarray:
  """Returns great-circle distances in kilometres, float64 [A, B].

  Points are latitudes and longitudes in degrees, [A, 2] and [B, 2].
  """
  cosines = _unit_vectors(origins) @ _unit_vectors(targets).T  # [A, B]
  return _EARTH_RADIUS_KM * np.arccos(np.clip(cosines, -1.0, 1.0))


def compass_direction(origin: np.ndarray, target: np.ndarray) -> str:
  """Returns 'north', 'northeast', ... for (latitude, longitude) in degrees."""
  (lat1, lon1), (lat2, lon2) = np.radians(origin), np.radians(target)
  east = np.sin(lon2 - lon1) * np.cos(lat2)
  north = np.cos(lat1) * np.sin(lat2) - np.sin(lat1) * np.cos(lat2) * np.cos(
    lon2 - lon1
  )
  eighths = np.arctan2(east, north) / (np.pi / 4)
  return _COMPASS[int(np.round(eighths)) % 8]


def rounded_count(value: float) -> str:
  """Writes a count: 456123 -> '456 thousand', 12345678 -> '12 million'."""
  for unit, name in ((10**6, 'million'), (10**3, 'thousand')):
    if value >= 10 * unit:
      return f'{value / unit:.0f} {name}'
  return f'{value:.0f}' if value >= 1 else f'{value:.1g}'


def kilometres(value: float) -> str:
  """Writes a distance without its unit: 12.34 -> '12', 1234.5 -> '1234'."""
  return f'{max(value, 1):.0f}'


def latitude(degrees: float) -> str:
  """Writes a latitude: -33.87 -> '34 degrees south'."""
  return f'{abs(degrees):.0f} degrees {"north" if degrees >= 0 else "south"}'


def _unit_vectors(points: np.ndarray) -> np.ndarray:
  """Maps degrees, [A, 2], to points on the unit sphere, [A, 3]."""
  lat, lon = np.radians(np.asarray(points, np.float64).reshape(-1, 2)).T
  return np.stack(
    [np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1
  )
