// A masked sentence: its words with and without retrieval, and why.
import {bar, details, link, node, percent} from './dom.js';
import {call} from './server.js';

export async function complete(sentence) {
  const reply = await call('complete', {sentence});
  const best = (lists) => lists.map((words) => words[0]);
  const words = best(reply.with_retrieval);
  const alone = best(reply.without_retrieval);
  return {
    status: [filled(sentence, words), node('p', '',
      'With retrieval: ', said(words), '. Without: ', said(alone), '.')],
    rest: [details('How REALM found it', 'steps', [
      node('div', 'sides',
        side('With retrieval', reply.with_retrieval),
        side('Without: the null block alone', reply.without_retrieval)),
      node('p', 'muted', 'Utility is log p(y|z,x) − log p(y|null,x): above ' +
        '0, the block helps to find the words.'),
      node('ol', 'blocks', ...[...reply.candidates]
        .sort((a, b) => b.p_z - a.p_z).map(candidateItem))])],
  };
}

function filled(sentence, words) {
  const paragraph = node('p', 'answer');
  sentence.split('[MASK]').forEach((part, i) => {
    if (i) paragraph.append(node('mark', '', words[i - 1].word));
    paragraph.append(part);
  });
  return paragraph;
}

function said(words) {
  const each = words.map((w) => `“${w.word}” (${percent(w.probability)})`);
  return node('b', '', each.join(', '));
}

function side(label, lists) {
  const card = node('div', 'card', node('h2', '', label));
  lists.forEach((words, i) => {
    const list = node('dl', 'words');
    if (lists.length > 1) list.setAttribute('aria-label', `Mask ${i + 1}`);
    for (const {word, probability} of words) {
      list.append(node('dt', '', word), node('dd', '', bar('', probability)));
    }
    card.append(list);
  });
  return card;
}

function candidateItem(item) {
  const isNull = item.block_id === null;
  const element = node('li', '',
    isNull
      ? node('p', 'null', 'Null block: the encoder sees no text')
      : node('p', 'title', link(item.title || 'Untitled', 'block', item.block_id)),
    bar('p(z|x)', item.p_z, 'retriever'),
    bar('p(y|z,x)', item.p_y, 'reader'));
  if (!isNull) {
    const helps = item.utility > 0 ? 'helps' : 'hurts';
    element.append(node('p', '', 'Utility ', node('b', helps, signed(item.utility))),
      node('p', 'text', item.text));
  }
  return element;
}

function signed(value) {
  const text = value.toFixed(2).replace('-', '−');
  return value > 0 ? `+${text}` : text;
}
