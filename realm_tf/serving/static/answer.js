// A question: its answer with the source first, then how it was found.
import {bar, button, byId, details, likelihood, link, marked, node, origin,
  percent} from './dom.js';
import {call, server} from './server.js';

const SEARCHES = {
  words: 'By words alone (BM25)',
  embeddings: 'By embeddings alone',
  both: 'By both',
};

export async function ask(question) {
  const reply = await call('ask', {question});
  const [first] = reply.evidence;
  const rest = [];
  if (first) rest.push(source(first));
  rest.push(steps(reply));
  if (server.about.can_search) {
    rest.push(details('What other searches would have found', 'other', [],
      (body) => compare(question, body)));
  }
  return {status: headline(reply), rest};
}

function headline(reply) {
  if (!server.about.can_answer) {
    return [node('p', '', 'No reader cuts out answers here. The best blocks:')];
  }
  if (!reply.answer) return [node('p', 'answer', 'No block could be read.')];
  const answer = (text) => node('p', 'answer', text);
  if (!reply.is_refused) return [answer(reply.answer), sureness(reply)];
  return [answer(server.about.refused),
    node('p', '', 'Best guess: ', node('b', 'guess', reply.answer)),
    sureness(reply)];
}

// In words; the number on demand.
function sureness(reply) {
  return details(likelihood(reply.probability), 'sure', [node('p', 'muted',
    `${percent(reply.probability)}: the probability that this answer is ` +
    'right.')]);
}

function source(item) {
  return node('figure', 'source',
    marked(item.text, item.start, item.end, item.sentence),
    node('figcaption', '', 'From ',
      link(item.title || 'an untitled article', 'block', item.block_id),
      ...origin(item.article_id).flatMap((each) => [', ', each])));
}

// Eq. 1 on this question: the blocks with both of its probabilities.
function steps(reply) {
  const none = node('li', '',
    node('p', 'null', 'None of these: all blocks that were not read'),
    bar('p(null|x)', reply.null_probability, 'retriever'));
  const list = node('ol', 'blocks', ...reply.evidence.map(blockItem), none);
  const element = details('How REALM found it', 'steps', [
    node('p', 'muted', 'The retriever shares its choice among blocks z, ' +
      'p(z|x). In each, the reader marks its best span y, with p(y|z,x).'),
    ...sum(reply), list]);
  element.open = server.about.can_edit || !server.about.can_answer;
  return element;
}

// The sum over the blocks that give the answer.
function sum(reply) {
  const terms = reply.evidence.filter((item) => item.answer === reply.answer &&
    item.p_y !== undefined);
  if (!reply.answer || !terms.length) return [];
  const parts = terms.flatMap((item, i) => [i ? ' + ' : '',
    node('span', 'retriever', percent(item.p_z)), ' · ',
    node('span', 'reader', percent(item.p_y))]);
  const total = terms.reduce((all, item) => all + item.p_z * item.p_y, 0);
  return [node('p', 'sum', `p(“${reply.answer}”|x) = `, ...parts, ' = ',
    node('b', '', percent(total)))];
}

function blockItem(item) {
  const title = node('p', 'title',
    link(item.title || 'Untitled', 'block', item.block_id));
  if (item.changed) title.append(' ', node('span', 'badge', 'changed'));
  const element = node('li', '', title,
    bar('p(z|x)', item.p_z, 'retriever'));
  if (item.p_y !== undefined) element.append(bar('p(y|z,x)', item.p_y, 'reader'));
  element.append(marked(item.text, item.start, item.end));
  element.dataset.block = item.block_id;
  if (server.about.can_edit) element.append(editButtons(element, item));
  return element;
}

async function compare(question, body) {
  body.replaceChildren(node('p', 'muted', 'Searching …'));
  try {
    const {searches} = await call('compare', {question});
    body.replaceChildren(node('p', 'muted', 'The same reader, after each search:'),
      node('div', 'sides', ...searches.map(searchCard)));
  } catch (error) {
    body.replaceChildren(node('p', '', error.message),
      button('Try again', () => compare(question, body), 'quiet'));
  }
}

function searchCard(found) {
  const [first] = found.evidence;
  const titles = found.evidence.map((item) =>
    node('li', '', link(item.title || 'Untitled', 'block', item.block_id)));
  const heading = node('h2', '', SEARCHES[found.search]);
  if (found.is_own) heading.append(' ', node('span', 'badge', 'this page'));
  const card = node('div', 'card', heading);
  if (found.answer) card.append(node('p', 'title', found.answer));
  if (first) card.append(marked(first.text, first.start, first.end, first.sentence));
  card.append(node('p', 'muted', titles.length ? 'It read:' : 'It found nothing.'),
    node('ul', '', ...titles));
  return card;
}

function editButtons(element, item) {
  const buttons = node('div', 'buttons');
  const add = (label, action) => {
    const made = button(label, action, 'quiet');
    made.setAttribute('aria-label', `${label}: ${item.title}`);
    buttons.append(made);
  };
  add('Change the text', () => openEditor(element, item));
  if (item.changed) add('Restore', () => edit(item, null));
  return buttons;
}

function openEditor(element, item) {
  const text = node('textarea', '', item.text);
  text.id = `text-${item.block_id}`;
  text.maxLength = 4096;
  const label = node('label', '', `Text of “${item.title}”, in memory only`);
  label.htmlFor = text.id;
  const close = () => {
    element.replaceWith(blockItem(item));
    focusBlock(item.block_id);
  };
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
  });
  element.replaceChildren(label, text, node('div', 'buttons',
    button('Save and ask again', () => edit(item, text.value)),
    button('Cancel', close, 'quiet')));
  text.focus();
}

async function edit(item, text) {
  try {
    await call('edit', {block_id: item.block_id, text});
  } catch (error) {
    byId('error').replaceChildren(node('p', '', error.message));
    return;
  }
  document.addEventListener('shown', () => focusBlock(item.block_id),
    {once: true});
  document.dispatchEvent(new Event('again'));
}

// Keeps the keyboard's focus on the block, or moves it to the question.
function focusBlock(blockId) {
  const block = document.querySelector(`[data-block="${blockId}"] button`);
  (block || byId('text')).focus();
}
