// The page: its address names its state, so that it can be shared.
import {ask} from './answer.js';
import {button, byId, link, node} from './dom.js';
import {article, search} from './lookup.js';
import {complete} from './masked.js';
import {call, server, stopCalls} from './server.js';

const MASK = '[MASK]';
// Parameter of the address -> the form's texts, and the function of a state.
const MODES = {
  q: {heading: 'Ask a corpus', label: 'Your question', submit: 'Ask',
    show: ask},
  m: {heading: 'Fill in a blank', label: `Sentence with ${MASK} for each missing wordpiece`,
    submit: 'Fill in', show: complete},
  s: {heading: 'Look up titles and words', label: 'A title, or words',
    submit: 'Look up', show: search},
  block: {show: article},
};
let mode = 'q';

async function route() {
  if (!server.about.examples) return;
  stopCalls();
  const given = new URLSearchParams(location.search);
  const name = Object.keys(MODES).find((each) => given.has(each)) || 'q';
  const value = given.get(name) || '';
  showForm(name, name === 'block' ? '' : value);
  show([], []);
  document.title = value && name !== 'block' ? `${value} – REALM` : 'REALM';
  if (!value) return;
  const result = byId('result');
  result.setAttribute('aria-busy', 'true');
  show([node('p', 'loading', waiting(name))], []);
  try {
    const found = await MODES[name].show(value);
    if (found.title) document.title = `${found.title} – REALM`;
    show(found.status, found.rest);
    if (found.show) found.show();
  } catch (error) {
    if (error.name === 'AbortError') return;
    fail(error);
  }
  result.removeAttribute('aria-busy');
  document.dispatchEvent(new Event('shown'));
}

function waiting(name) {
  if (name === 'block') return 'Opening the article …';
  const blocks = (server.about.num_blocks || 0).toLocaleString('en');
  return `Searching ${blocks} blocks …`;
}

function show(status, rest) {
  byId('error').replaceChildren();
  byId('status').replaceChildren(...status);
  byId('rest').replaceChildren(...rest);
}

function fail(error) {
  show([], []);
  byId('error').append(node('p', '', error.message));
  if (error.mayPass) byId('error').append(button('Try again', start, 'quiet'));
}

function showForm(name, value) {
  if (name !== 'block') mode = name;
  for (const each of document.querySelectorAll('[data-mode]')) {
    if (each.dataset.mode === name) each.setAttribute('aria-current', 'page');
    else each.removeAttribute('aria-current');
  }
  byId('heading').textContent = MODES[mode].heading;
  byId('label').textContent = MODES[mode].label;
  byId('submit').textContent = MODES[mode].submit;
  byId('text').value = value;
  byId('lead').hidden = name === 'block' || name === 's';
  showExamples(name);
}

// Questions that this model answers; they stay where they are, for the focus.
function showExamples(name) {
  const section = byId('examples');
  if (section.dataset.mode === name) return;
  section.dataset.mode = name;
  const {questions, masked} = server.about.examples;
  const parts = [];
  const add = (label, texts, parameter) => {
    if (!texts.length) return;
    const each = texts.map((text) => button(
      text.replaceAll(/\[MASK\]( ?\[MASK\])*/g, '____'),
      () => go(`?${new URLSearchParams({[parameter]: text})}`), 'example'));
    parts.push(node('h2', '', label), node('div', 'buttons', ...each));
  };
  if (name === 'q') add('Try a question', questions, 'q');
  if (name === 'q' || name === 'm') {
    if (server.about.can_complete) add('Or fill in a blank', masked, 'm');
  }
  section.replaceChildren(...parts);
}

function go(address) {
  if (address === location.search) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  route();
  if (!address.startsWith('?block')) scrollTo(0, 0);
}

async function start() {
  try {
    server.about = await call('about');
  } catch (error) {
    fail(error);
    return;
  }
  const {about} = server;
  byId('token-form').hidden = true;
  document.querySelector('[data-mode=m]').hidden = !about.can_complete;
  document.querySelector('[data-mode=s]').hidden = !about.can_search;
  byId('about').textContent = 'REALM answers from ' +
    `${about.num_blocks.toLocaleString('en')} blocks of text`;
  const note = !about.can_answer
    ? 'This model only searches: no reader cuts out answers.'
    : about.best_effort
      ? 'Answers are hints: the reader has learned from no question.' : '';
  byId('note').textContent = note;
  byId('note').hidden = !note;
  route();
}

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  go(`?${new URLSearchParams({[mode]: byId('text').value})}`);
});
byId('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  server.token = byId('token').value.trim();
  start();
});
document.addEventListener('click', (event) => {
  const target = event.target.closest('a[href^="?"]');
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!target || !isPlain) return;
  event.preventDefault();
  go(target.getAttribute('href'));
});
document.addEventListener('again', route);
addEventListener('popstate', route);
start();
