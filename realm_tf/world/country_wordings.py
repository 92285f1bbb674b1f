"""Wordings of the facts about countries, one by one."""

from realm_tf.world import city_wordings
from realm_tf.world import templates

_Wordings = templates.Wordings

COUNTRY_WORDINGS = {
  # People are counted in a country as they are in a city.
  'population': city_wordings.CITY_WORDINGS['population'],
  'capital': _Wordings(
    statements=(
      'The capital of {e} is {v}.',
      '{v} is the capital city of {e}.',
      'The government of {e} has its seat in {v}.',
      '{e} is governed from {v}.',
    ),
    sentences=(
      'Ambassadors sent to {e} live in {v}.',
      'The parliament of {e} meets in {v}.',
      'Ministers of {e} work in {v}.',
      'Where do the ministers of {e} work? They work in {v}.',
    ),
    questions=(
      'What is the capital of {e}?',
      'Which city is the capital of {e}?',
      'Where is the seat of government of {e}?',
      'From which city is {e} governed?',
    ),
  ),
  'continent': _Wordings(
    statements=(
      '{e} lies in {v}.',
      'The continent of {e} is {v}.',
      '{e} is counted as a part of {v}.',
      'Geographers place {e} in {v}.',
    ),
    sentences=(
      'A globe shows {e} within {v}.',
      'The landmass to which {e} is assigned is {v}.',
      'The soil of {e} is soil of {v}.',
      'Which landmass is {e} assigned to? It is {v}.',
    ),
  ),
  'currency': _Wordings(
    statements=(
      'The currency of {e} is the {v}.',
      '{e} has the {v} as legal tender.',
      'The central bank in charge of {e} issues the {v}.',
      'Money in {e} is counted in the {v}.',
    ),
    sentences=(
      'Shoppers in {e} pay with the {v}.',
      'The coins that buyers in {e} carry are the {v}.',
      'Prices in shop windows of {e} are given in the {v}.',
      'What do buyers in {e} carry in the purse? The {v}.',
    ),
    questions=(
      'What is the currency of {e}?',
      'Which currency is used in {e}?',
      'What money do people in {e} use?',
      'Which legal tender does {e} have?',
    ),
  ),
  'phone_code': _Wordings(
    statements=(
      'The calling code of {e} is {v}.',
      'Telephone numbers of {e} begin with {v}.',
      '{e} has the dialling prefix {v}.',
      'The prefix {v} leads to telephones in {e}.',
    ),
    sentences=(
      'To ring somebody in {e}, dial {v} first.',
      'A caller from abroad reaches {e} through {v}.',
      'A mobile of {e} shows {v} before the digits.',
      'What must one dial to ring {e}? One dials {v} first.',
    ),
    questions=(
      'What is the calling code of {e}?',
      'Which dialling prefix does {e} have?',
      'With which code do telephone numbers of {e} start?',
      'What is the telephone prefix for {e}?',
    ),
  ),
  'domain': _Wordings(
    statements=(
      'The internet domain {v} belongs to {e}.',
      'The top-level domain of {e} is {v} on the internet.',
      'Web addresses of {e} have {v} at the end.',
      'On the internet, {v} is reserved for {e}.',
    ),
    sentences=(
      'A website with the suffix {v} was registered in {e}.',
      'Online, the suffix {v} points to {e}.',
      'Mail to firms in {e} often goes to a host under {v} somewhere.',
      'Which suffix do websites from {e} carry? They carry {v} last.',
    ),
    questions=(
      'What is the internet domain of {e}?',
      'Which top-level domain does {e} have?',
      'With what do web addresses of {e} end?',
      'Which domain is reserved for {e}?',
    ),
  ),
  'iso_code': _Wordings(
    statements=(
      'The three-letter code of {e} is {v}.',
      'In the international standard, {v} stands for {e}.',
      '{e} is abbreviated as {v} in international lists.',
      'Three letters, {v}, identify {e}.',
    ),
    sentences=(
      'Passports of {e} bear the mark {v} in capitals.',
      'Tables shorten {e} to {v}.',
      'Athletes of {e} may wear the sign {v}.',
      'How do tables shorten {e}? They print {v}.',
    ),
    questions=(
      'What is the three-letter code of {e}?',
      'Which code stands for {e} in the international standard?',
      'How is {e} abbreviated in international lists?',
      'Which three letters identify {e}?',
    ),
  ),
  'num_neighbours': _Wordings(
    statements=(
      '{e} has {v} neighbouring countries.',
      'The number of countries that border {e} is {v}.',
      'Exactly {v} countries touch {e}.',
      '{e} shares frontiers with {v} countries.',
    ),
    sentences=(
      'A treaty of {e} with all states next door needs {v} partners.',
      'Count the states around {e}, and you get {v}.',
      'The states around {e} number {v} in total.',
      'How many states are around {e}? There are {v}.',
    ),
  ),
  'neighbours': _Wordings(
    statements=(
      '{e} borders {v}.',
      '{e} has borders with {v}.',
      'The neighbouring countries of {e} include {v}.',
      'The land around {e} belongs to {v}.',
    ),
    sentences=(
      'Customs posts of {e} look at {v}.',
      'The states next door to {e} include {v}.',
      'Trains that leave {e} roll into {v}.',
      'Who lives next door to {e}? The folk of {v}.',
    ),
    questions=(
      'Which country borders {e}?',
      'Which country is a neighbour of {e}?',
      'What country has a border with {e}?',
      'Name a country next to {e}.',
    ),
  ),
  'languages': _Wordings(
    statements=(
      'Languages of {e} include {v}.',
      'People in {e} speak {v}.',
      'The tongues heard in {e} include {v}.',
      'In {e} one hears {v}.',
    ),
    sentences=(
      'Newspapers of {e} are written in {v}.',
      'Pupils in {e} learn to read {v}.',
      'A visitor to {e} should understand {v}.',
      'What do pupils in {e} learn to read? They learn {v}.',
    ),
  ),
  'area': _Wordings(
    statements=(
      'The area of {e} is {v} square kilometres.',
      '{e} covers {v} square kilometres.',
      'The surface of {e} measures {v} square kilometres.',
      '{e} extends over {v} square kilometres.',
    ),
    sentences=(
      'Surveyors of {e} have {v} square kilometres to map.',
      'All the land and lakes of {e} make {v} square kilometres.',
      'On {v} square kilometres stretches {e}.',
      'How much land must surveyors of {e} map? It is {v} square kilometres.',
    ),
    questions=(
      'What is the area of {e}?',
      'How large is {e} in square kilometres?',
      'How many square kilometres does {e} cover?',
      'How big is {e}?',
    ),
  ),
  'density': _Wordings(
    statements=(
      'The population density of {e} is {v} people per square kilometre.',
      'On a square kilometre of {e} live {v} people.',
      '{e} has {v} people to the square kilometre.',
      'Each square kilometre of {e} holds {v} people on average.',
    ),
    sentences=(
      'Spread evenly over {e}, the crowd would have {v} per square kilometre.',
      'How crowded {e} is shows in {v} per square kilometre.',
      'The crowd on one square kilometre of {e} counts {v} heads.',
      'How dense is the crowd in {e}? It is {v} per square kilometre.',
    ),
    questions=(
      'What is the population density of {e}?',
      'How many people live on a square kilometre of {e}?',
      'How densely is {e} populated?',
      'How many people per square kilometre does {e} have?',
    ),
  ),
}
