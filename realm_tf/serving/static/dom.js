// Elements and numbers for the page. Texts become text, never HTML.

export const byId = (id) => document.getElementById(id);

// Returns <tag class="...">children</tag>; strings become text.
export function node(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function button(label, action, className) {
  const element = node('button', className, label);
  element.type = 'button';
  element.addEventListener('click', action);
  return element;
}

// A link to another state of the page; page.js follows it without a reload.
export function link(label, name, value) {
  const element = node('a', '', label);
  element.href = `?${new URLSearchParams({[name]: value})}`;
  return element;
}

// Where an article is from, if its id is an address, which becomes a link, or
// a file.
export function origin(id) {
  if (!/[./]/.test(id)) return [];
  if (!/^https?:\/\//.test(id)) return [node('span', 'muted', id)];
  const element = node('a', '', id);
  element.href = id;
  element.rel = 'noreferrer';
  return [element];
}

// A part that is shown on demand. `load` fills it when it is first opened.
export function details(label, className, children, load = () => {}) {
  const body = node('div', '', ...children);
  const element = node('details', className, node('summary', '', label), body);
  element.addEventListener('toggle', () => load(body), {once: true});
  return element;
}

export function percent(share) {
  if (share > 0 && share < 0.001) return '< 0.1 %';
  if (share > 0.999 && share < 1) return '> 99.9 %';
  return `${(100 * share).toFixed(1)} %`;
}

// The bounds are the IPCC's, whose words are "about as likely as not" for a
// third to two thirds.
export function likelihood(probability) {
  const words = [[0.9, 'Very likely right'], [0.66, 'Likely right'],
    [0.33, 'Uncertain'], [0.1, 'Unlikely to be right'],
    [0, 'Very unlikely to be right']];
  return words.find(([least]) => probability >= least)[1];
}

// Screen readers read the number, not the bar.
export function bar(name, share, className = '') {
  const fill = node('div', 'fill');
  fill.style.setProperty('--share', `${100 * Math.min(1, share)}%`);
  const track = node('div', 'track', fill);
  track.setAttribute('aria-hidden', 'true');
  return node('div', `share ${className}`,
    ...name ? [node('span', 'name', name)] : [],
    node('span', 'number', percent(share)), track);
}

// Offsets count characters; JavaScript would count UTF-16's code units.
export function marked(text, start, end, [first, last] = [0, Infinity]) {
  const characters = Array.from(text);
  const part = (from, to) => characters.slice(from, to).join('');
  const paragraph = node('p', 'text', part(first, start));
  if (end > start) paragraph.append(node('mark', '', part(start, end)));
  paragraph.append(part(Math.max(first, end), last));
  return paragraph;
}
