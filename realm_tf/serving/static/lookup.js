// Titles and words, and an article opened at a block.
import {link, node, origin} from './dom.js';
import {call} from './server.js';

export async function search(text) {
  const {articles, blocks} = await call('search', {text});
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const rest = [];
  if (articles.length) {
    rest.push(node('h2', '', 'Articles'), node('ul', 'titles',
      ...articles.map((each) =>
        node('li', '', link(each.title, 'block', each.block_id)))));
  }
  if (blocks.length) {
    rest.push(node('h2', '', 'Blocks with these words'), node('ol', 'blocks',
      ...blocks.map((each) => node('li', '',
        node('p', 'title', link(each.title || 'Untitled', 'block', each.block_id)),
        withWords(each.text, words)))));
  }
  const number = articles.length + blocks.length;
  const said = number ? `Found ${number}.` : 'Nothing has these words.';
  return {status: [node('p', 'muted', said)], rest};
}

function withWords(text, words) {
  const parts = text.split(/([\p{L}\p{N}]+)/u);
  return node('p', 'text', ...parts.map((part) =>
    words.has(part.toLowerCase()) ? node('mark', '', part) : part));
}

export async function article(blockId) {
  const reply = await call('article', {block_id: Number(blockId)});
  const shown = reply.blocks.length;
  const heading = node('h2', '', reply.title || 'Untitled');
  heading.tabIndex = -1;
  const note = shown < reply.num_blocks
    ? `${shown} of the article’s ${reply.num_blocks} blocks.` : '';
  const blocks = reply.blocks.map((each) => {
    const block = node('p', 'text', each.text);
    if (each.block_id === Number(blockId)) {
      block.className = 'text here';
      block.setAttribute('aria-current', 'location');
    }
    return block;
  });
  return {
    title: reply.title,
    status: [heading],
    rest: [...note ? [node('p', 'muted', note)] : [],
      ...origin(reply.article_id).map((each) => node('p', '', 'From ', each)),
      ...blocks],
    show: () => {
      heading.focus({preventScroll: true});
      document.querySelector('.here').scrollIntoView({block: 'center'});
    },
  };
}
