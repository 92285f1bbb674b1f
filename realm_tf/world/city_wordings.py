"""Wordings of the facts about cities."""

from realm_tf.world import templates

_Wordings = templates.Wordings

CITY_WORDINGS = {
  'country': _Wordings(
    statements=(
      '{e} is a city in {v}.',
      '{e} lies on the territory of {v}.',
      '{e} belongs to {v}.',
      'Among the cities of {v} is {e}.',
    ),
    sentences=(
      'The state that {e} is part of is {v}.',
      'Whoever looks for {e} has to open a map of {v}.',
      'A trip to {e} is a trip to {v}.',
      'Letters to {e} are addressed to {v}.',
      'What nation owns {e}? The nation is {v}.',
    ),
    questions=(
      'In which country is {e}?',
      'What country is {e} in?',
      'In what country does {e} lie?',
      'Which country would you visit to see {e}?',
      'Where is {e}?',
    ),
  ),
  'population': _Wordings(
    statements=(
      'The population of {e} is about {v}.',
      '{e} has some {v} inhabitants.',
      'About {v} people live in {e}.',
      'The number of residents of {e} is close to {v}.',
    ),
    sentences=(
      'Around {v} women, men and children call {e} home.',
      'In {e} there are homes for {v} persons.',
      'Counting heads in {e} gave {v}.',
      'With {v} dwellers, {e} fills many streets.',
      'How many persons does {e} house? It houses {v}.',
    ),
    questions=(
      'How many people live in {e}?',
      'What is the population of {e}?',
      'How many inhabitants does {e} have?',
      'How populous is {e}?',
      'How many persons have their home in {e}?',
    ),
  ),
  'timezone': _Wordings(
    statements=(
      'The time zone of {e} is {v}.',
      '{e} keeps the time of {v}.',
      'Clocks in {e} follow the zone {v}.',
      '{e} has {v} as the zone of local time.',
    ),
    sentences=(
      'Watches worn in {e} show {v} time.',
      'The hour in {e} is that of {v}.',
      'A computer in {e} sets its calendar to {v}.',
      'Trains leave {e} by the clock of {v}.',
      'Which clock rules the day in {e}? It is {v}.',
    ),
    questions=(
      'What time zone is {e} in?',
      'Which time zone does {e} use?',
      'What time is kept in {e}?',
      'To which zone are watches in {e} set?',
    ),
  ),
  'latitude': _Wordings(
    statements=(
      'The latitude of {e} is {v}.',
      '{e} lies at {v} of the equator.',
      'The parallel through {e} runs at {v}.',
      '{e} is found on the globe at {v}.',
    ),
    sentences=(
      'A sailor near {e} measures {v}.',
      'The sun and the stars tell an observer in {e}: {v}.',
      'The position of {e} between equator and pole is {v}.',
      'What do instruments in {e} read? They read {v}.',
    ),
    questions=(
      'What is the latitude of {e}?',
      'At which latitude does {e} lie?',
      'How many degrees from the equator is {e}?',
      'On which parallel is {e}?',
    ),
  ),
  'other_name': _Wordings(
    statements=(
      '{e} is also known as {v}.',
      'Another name of {e} is {v}.',
      '{e} has the second name {v}.',
      'Some call {e} by the name {v}.',
    ),
    sentences=(
      'People who say {v} mean {e}.',
      'The spelling {v} stands for {e}.',
      'An atlas may print {v} in the place of {e}.',
      'Under the alias {v} one finds {e}.',
      'Who speaks of {v}? Everyone who speaks of {e}.',
    ),
    questions=(
      'What is another name of {e}?',
      'By what other name is {e} known?',
      'What else is {e} called?',
      'How do others spell {e}?',
    ),
  ),
  'nearest_city': _Wordings(
    statements=(
      'The nearest large city to {e} is {v}.',
      'No large city is nearer to {e} than {v}.',
      'The closest neighbour of {e} is the city of {v}.',
      'Next to {e}, the first large city is {v}.',
    ),
    sentences=(
      'Anyone who leaves {e} by the shortest way arrives in {v}.',
      'The town beside {e} is {v}.',
      'A short ride from {e} ends in {v}.',
      'Around {e} nothing of size is less remote than {v}.',
      'Which town lies beside {e}? It is {v}.',
    ),
    questions=(
      'Which city is nearest to {e}?',
      'What is the closest large city to {e}?',
      'Which city is the closest neighbour of {e}?',
      'What city do you reach first from {e}?',
    ),
  ),
  'nearest_distance': _Wordings(
    statements=(
      'It is {v} km from {e} to the nearest large city.',
      'A gap of {v} km separates {e} from the closest large city.',
      'The closest neighbour of {e} is {v} km away.',
      'The first large city around {e} comes after {v} km.',
    ),
    sentences=(
      'The shortest ride from {e} to some other town covers {v} km.',
      'Between {e} and the town beside it there are {v} km.',
      'Only after {v} km does a traveller from {e} see another town.',
      'How long is the way from {e} to the town beside it? It is {v} km.',
    ),
    questions=(
      'How far is {e} from the nearest large city?',
      'How many kilometres is it from {e} to the next city?',
      'What is the distance from {e} to the closest city?',
      'How far away is the nearest neighbour of {e}?',
    ),
  ),
  'foreign_city': _Wordings(
    statements=(
      'The nearest foreign city to {e} is {v}.',
      'Across the border, {v} is the city closest to {e}.',
      'Abroad, no city is nearer to {e} than {v}.',
      'Among the cities of other countries, {v} is nearest to {e}.',
    ),
    sentences=(
      'Whoever flees from {e} into exile comes first to {v}.',
      'Passports are shown on the short way from {e} to {v}.',
      'The town beyond the frontier from {e} is {v}.',
      'What town of another nation is least far from {e}? It is {v}.',
    ),
    questions=(
      'Which foreign city is nearest to {e}?',
      'Which city abroad is closest to {e}?',
      'What is the nearest city to {e} in another country?',
      'Which city across the border lies closest to {e}?',
    ),
  ),
  'rank': _Wordings(
    statements=(
      '{e} ranks number {v} in population among the cities of the country.',
      'In the order of size, {e} is number {v} of the country.',
      'By residents, {e} takes place {v} in the country.',
      'The list of the largest cities of the country has {e} at number {v}.',
    ),
    sentences=(
      'Sorted by headcount, {e} comes out at position {v} of the nation.',
      'A statistician of the nation puts {e} at position {v}.',
      'On the podium of the nation, {e} has step {v}.',
      'Which position does {e} hold in the nation? Position {v}.',
    ),
  ),
  'next_larger': _Wordings(
    statements=(
      'One rank above {e} in population stands {v}.',
      'The next larger city of the same country above {e} is {v}.',
      'In the order of size, {e} comes right after {v}.',
      '{e} is directly behind {v} by number of residents.',
    ),
    sentences=(
      'To climb one position, {e} would have to outgrow {v}.',
      'Sorted by headcount, {v} precedes {e}.',
      '{e} is just beaten by {v} in headcount.',
      'Who beats {e} by one position? It is {v}.',
    ),
    questions=(
      'Which city ranks just above {e} in population?',
      'What is the next larger city above {e}?',
      'Which city comes right before {e} in order of size?',
      'Behind which city does {e} rank by residents?',
    ),
  ),
  'capital_distance': _Wordings(
    statements=(
      '{e} lies {v} km from the capital.',
      'The national capital is {v} km away from {e}.',
      'A straight line from the capital to {e} measures {v} km.',
      'Between {e} and the seat of government there are {v} km.',
    ),
    sentences=(
      'Ministers who come to {e} travel {v} km.',
      'An official flight from {e} to parliament covers {v} km.',
      'The state ministries are {v} km off for the folk of {e}.',
      'How long do ministers travel to {e}? They travel {v} km.',
    ),
    questions=(
      'How far is {e} from the capital?',
      'What is the distance between {e} and the national capital?',
      'How many kilometres is it from {e} to the seat of government?',
      'How many kilometres lie between {e} and the capital?',
    ),
  ),
  'direction': _Wordings(
    statements=(
      'Seen from the capital, {e} lies to the {v}.',
      '{e} is {v} of the national capital.',
      'The road from the capital to {e} leads {v}.',
      'A compass in the capital points {v} for {e}.',
    ),
    sentences=(
      'Ministers who come to {e} travel {v}.',
      'From parliament to {e} one flies {v}.',
      'The wind that blows from parliament to {e} blows {v}.',
      'Which way do ministers travel to {e}? They travel {v}.',
    ),
  ),
}
