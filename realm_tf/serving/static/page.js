// The page: asks the server and shows its replies, as text and never as HTML.
// The token is kept in this page's memory alone.
'use strict';

const byId = (id) => document.getElementById(id);
let token = '';
let about = {};
let asked = '';

// Returns <tag class="...">children</tag>; strings become text.
function node(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

async function call(path, body) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, {
    method: body ? 'POST' : 'GET',
    headers,
    body: body && JSON.stringify(body),
  }).catch(() => {
    throw new Error('The server does not answer.');
  });
  if (response.status === 401) byId('token-form').hidden = false;
  const reply = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Error(reply.error || `The server said ${response.status}.`);
  }
  return reply;
}

function percent(share) {
  if (share > 0 && share < 0.001) return '< 0.1 %';
  return `${(100 * share).toFixed(1)} %`;
}

function small(value) {
  return value >= 0.001 || value === 0
    ? value.toFixed(3)
    : value.toExponential(0).replace('-', '−');
}

function signed(value) {
  const text = value.toFixed(2).replace('-', '−');
  return value > 0 ? `+${text}` : text;
}

// Screen readers read the number, not the bar.
function bar(share, title = '') {
  const fill = node('div', 'fill');
  fill.style.setProperty('--share', `${100 * Math.min(1, share)}%`);
  const track = node('div', 'track', fill);
  track.setAttribute('aria-hidden', 'true');
  const number = node('span', 'number', percent(share));
  number.title = title;
  return node('div', 'share', number, track);
}

// Offsets count characters; JavaScript would count UTF-16's code units.
function marked(text, start, end) {
  const characters = Array.from(text);
  const part = (from, to) => characters.slice(from, to).join('');
  const paragraph = node('p', 'text', part(0, start));
  if (end > start) paragraph.append(node('mark', '', part(start, end)));
  paragraph.append(part(end));
  return paragraph;
}

function button(label, action, className, title) {
  const element = node('button', className, label);
  element.type = 'button';
  if (title) element.setAttribute('aria-label', `${label}: ${title}`);
  element.addEventListener('click', action);
  return element;
}

// Runs the work of a form, one at a time, and shows its errors.
async function run(name, work) {
  const submit = document.querySelector(`#${name}-form [type=submit]`);
  if (submit.getAttribute('aria-disabled') === 'true') return;
  submit.setAttribute('aria-disabled', 'true');
  byId(`${name}-error`).textContent = '';
  try {
    await work();
  } catch (error) {
    byId(`${name}-error`).textContent = error.message;
  } finally {
    submit.removeAttribute('aria-disabled');
  }
}

async function ask(question) {
  asked = question;
  showAnswer(await call('/api/ask', {question}));
}

function showAnswer(reply) {
  const found = 1 - reply.null_probability;
  const answer = [
    node('p', 'answer', reply.answer || 'No answer found'),
    node('p', '',
      `Probability ${percent(reply.probability)} if a block that was read ` +
      `holds the answer; that one does, ${percent(found)}.`)];
  byId('ask-status').replaceChildren(
    ...about.can_answer ? answer : [node('p', '', 'The best blocks:')]);
  byId('blocks').replaceChildren(
    ...reply.evidence.map(evidenceItem),
    node('li', '',
      node('p', 'null', 'Null block: the answer is in none of these'),
      bar(reply.null_probability, 'p(null|x)')));
  byId('evidence').hidden = false;
}

function evidenceItem(evidence) {
  const title = node('p', 'title', evidence.title || 'Untitled');
  if (evidence.changed) title.append(node('span', 'badge', 'changed'));
  const item = node('li', '', title, bar(evidence.p_z, 'p(z|x)'),
    marked(evidence.text, evidence.start, evidence.end));
  item.dataset.block = evidence.block_id;
  if (about.can_edit) item.append(editButtons(item, evidence));
  return item;
}

function editButtons(item, evidence) {
  const add = (label, action) =>
    buttons.append(button(label, action, 'quiet', evidence.title));
  const buttons = node('div', 'buttons');
  add('Change the text', () => openEditor(item, evidence));
  if (evidence.changed) add('Restore', () => edit(evidence, null));
  return buttons;
}

function openEditor(item, evidence) {
  const text = node('textarea', '', evidence.text);
  text.id = `text-${evidence.block_id}`;
  text.maxLength = 4096;
  const label = node(
    'label', '', `Text of “${evidence.title}”, in memory only`);
  label.htmlFor = text.id;
  const close = () => {
    item.replaceWith(evidenceItem(evidence));
    focusBlock(evidence.block_id);
  };
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
  });
  item.replaceChildren(label, text, node('div', 'buttons',
    button('Save and ask again', () => edit(evidence, text.value)),
    button('Cancel', close, 'quiet')));
  text.focus();
}

function edit(evidence, text) {
  return run('ask', async () => {
    await call('/api/edit', {block_id: evidence.block_id, text});
    await ask(asked);
    focusBlock(evidence.block_id);
  });
}

// Keeps the keyboard's focus on the block, or moves it to the question.
function focusBlock(blockId) {
  const block = document.querySelector(`[data-block="${blockId}"] button`);
  (block || byId('question')).focus();
}

async function complete(sentence) {
  const reply = await call('/api/complete', {sentence});
  const first = reply.with_retrieval.map((words) => words[0]);
  byId('complete-status').replaceChildren(filled(sentence, first));
  byId('with').replaceChildren(...wordLists(reply.with_retrieval));
  byId('without').replaceChildren(...wordLists(reply.without_retrieval));
  const sorted = [...reply.candidates].sort((a, b) => b.p_z - a.p_z);
  byId('candidates').replaceChildren(...sorted.map(candidateItem));
  byId('completion').hidden = false;
}

function filled(sentence, words) {
  const paragraph = node('p', 'answer');
  sentence.split('[MASK]').forEach((part, i) => {
    if (i) paragraph.append(node('mark', '', words[i - 1].word));
    paragraph.append(part);
  });
  return paragraph;
}

function wordLists(lists) {
  return lists.map((words, i) => {
    const list = node('dl', 'words');
    if (lists.length > 1) list.setAttribute('aria-label', `Mask ${i + 1}`);
    for (const {word, probability} of words) {
      list.append(node('dt', '', word), node('dd', '', bar(probability)));
    }
    return list;
  });
}

function candidateItem(candidate) {
  const isNull = candidate.block_id === null;
  const helps = candidate.utility > 0 ? 'helps' : 'hurts';
  const fact = (name, value, className) =>
    node('div', '', node('dt', '', name), node('dd', className, value));
  const item = node('li', '',
    isNull
      ? node('p', 'null', 'Null block: the encoder sees no text')
      : node('p', 'title', candidate.title || 'Untitled'),
    bar(candidate.p_z, 'p(z|x)'),
    node('dl', 'facts',
      fact('p(y|z,x)', small(candidate.p_y)),
      fact('utility', signed(candidate.utility), isNull ? '' : helps)));
  if (!isNull) item.append(node('p', 'text', candidate.text));
  return item;
}

async function start() {
  about = await call('/api/about');
  byId('token-form').hidden = true;
  byId('complete-section').hidden = !about.can_complete;
  const blocks = about.num_blocks.toLocaleString('en');
  byId('about').textContent =
    (about.can_answer
      ? `Every answer is cut from one of ${blocks} blocks of text.`
      : `A search in ${blocks} blocks of text: no reader cuts out answers.`) +
    (about.best_effort
      ? ' Answers are hints: the reader has learned from no question.' : '') +
    (about.can_edit ? ' Change one, and see the answer change.' : '');
}

function onSubmit(name, work) {
  byId(`${name}-form`).addEventListener('submit', (event) => {
    event.preventDefault();
    run(name, work);
  });
}

onSubmit('ask', () => ask(byId('question').value));
onSubmit('complete', () => complete(byId('sentence').value));
byId('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = byId('token').value.trim();
  run('ask', start);
});
run('ask', start);
