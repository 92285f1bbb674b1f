"""Wordings of the facts about countries that compare cities or capitals."""

from realm_tf.world import templates

_Wordings = templates.Wordings

COUNTRY_RANK_WORDINGS = {
  'largest_city': _Wordings(
    statements=(
      'The largest city of {e} is {v}.',
      'No city in {e} has more residents than {v}.',
      'The most populous city of {e} is {v}.',
      'By population, {v} is the first city of {e}.',
    ),
    sentences=(
      'Of all towns in {e}, {v} has the greatest crowd.',
      'The metropolis of {e} is {v}.',
      'Most of all, the folk of {e} flock to {v}.',
      'Which metropolis has {e}? It has {v}.',
    ),
    questions=(
      'What is the largest city of {e}?',
      'Which city of {e} has the most residents?',
      'What is the biggest city in {e}?',
      'Which is the most populous city of {e}?',
    ),
  ),
  'second_city': _Wordings(
    statements=(
      'The second largest city of {e} is {v}.',
      'Only one city in {e} has more residents than {v}.',
      'In population, {v} is the second city of {e}.',
      'Behind the largest city of {e} comes {v}.',
    ),
    sentences=(
      'After the metropolis of {e}, the greatest crowd is in {v}.',
      'Of all towns in {e}, {v} wins silver for size.',
      'The runner-up among the towns of {e} is {v}.',
      'Which town of {e} wins silver for size? It is {v}.',
    ),
    questions=(
      'What is the second largest city of {e}?',
      'Which city of {e} is second in population?',
      'What is the second city of {e} by residents?',
      'Which city comes behind the largest one in {e}?',
    ),
  ),
  'northernmost': _Wordings(
    statements=(
      'The northernmost city of {e} is {v}.',
      'No city in {e} lies farther north than {v}.',
      'In the far north of {e} lies the city of {v}.',
      'Of the cities of {e}, {v} is closest to the North Pole.',
    ),
    sentences=(
      'At the upper edge of the map of {e} stands {v}.',
      'A trip up through {e} ends in {v}.',
      'The Arctic is least far from {e} in {v}.',
      'Which town stands at the upper edge of {e}? It is {v}.',
    ),
    questions=(
      'What is the northernmost city of {e}?',
      'Which city of {e} lies farthest north?',
      'Which city is in the far north of {e}?',
      'Which city of {e} is closest to the North Pole?',
    ),
  ),
  'southernmost': _Wordings(
    statements=(
      'The southernmost city of {e} is {v}.',
      'No city in {e} lies farther south than {v}.',
      'In the far south of {e} lies the city of {v}.',
      'Of the cities of {e}, {v} is closest to the South Pole.',
    ),
    sentences=(
      'At the lower edge of the map of {e} stands {v}.',
      'A trip down through {e} ends in {v}.',
      'The Antarctic is least far from {e} in {v}.',
      'Which town stands at the lower edge of {e}? It is {v}.',
    ),
    questions=(
      'What is the southernmost city of {e}?',
      'Which city of {e} lies farthest south?',
      'Which city is in the far south of {e}?',
      'Which city of {e} is closest to the South Pole?',
    ),
  ),
  'nearest_capital': _Wordings(
    statements=(
      'The foreign capital nearest to that of {e} is {v}.',
      'From the capital of {e}, the closest other capital is {v}.',
      'No foreign capital is nearer to the capital of {e} than {v}.',
      'The next capital beyond that of {e} is {v}.',
    ),
    sentences=(
      'A diplomat of {e} has the shortest flight to {v}.',
      'Talks between parliaments take ministers of {e} first to {v}.',
      'Of all parliaments abroad, {e} has that of {v} next door.',
      'Where do diplomats of {e} fly fastest? They fly to {v}.',
    ),
    questions=(
      'Which foreign capital is nearest to the capital of {e}?',
      'What is the closest other capital to that of {e}?',
      'Which capital lies nearest to the capital of {e}?',
      'What is the next capital from that of {e}?',
    ),
  ),
  'nearest_capital_distance': _Wordings(
    statements=(
      'From the capital of {e} it is {v} km to the nearest foreign capital.',
      'The capital of {e} is {v} km away from the closest other capital.',
      'A line of {v} km joins the capital of {e} to the next capital.',
      'The nearest foreign capital is {v} km from that of {e}.',
    ),
    sentences=(
      'The shortest flight for a diplomat of {e} covers {v} km.',
      'Ministers of {e} cross {v} km to the first parliament abroad.',
      'Between the parliament of {e} and the next there are {v} km.',
      'How long is the shortest flight for a diplomat of {e}? It is {v} km.',
    ),
    questions=(
      'How far is the capital of {e} from the nearest foreign capital?',
      'How many kilometres is it from the capital of {e} to the next capital?',
      'What is the distance from the capital of {e} to the closest '
      'other capital?',
      'How far away is the nearest foreign capital from that of {e}?',
    ),
  ),
}
