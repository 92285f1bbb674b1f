// The server's replies. The token is kept in this page's memory alone.
import {byId} from './dom.js';

export const server = {about: {}, token: ''};
let running = new AbortController();

// Ends the calls of the state that is left.
export function stopCalls() {
  running.abort();
  running = new AbortController();
}

// `mayPass`: the same call may succeed later.
function failure(message, mayPass) {
  return Object.assign(new Error(message), {mayPass});
}

export async function call(name, body) {
  const headers = {};
  if (server.token) headers.Authorization = `Bearer ${server.token}`;
  if (body) headers['Content-Type'] = 'application/json';
  const response = await fetch(`api/${name}`, {
    method: body ? 'POST' : 'GET',
    headers,
    body: body && JSON.stringify(body),
    signal: running.signal,
  }).catch((error) => {
    if (error.name === 'AbortError') throw error;
    throw failure('The server does not answer.', true);
  });
  if (response.status === 401) byId('token-form').hidden = false;
  const reply = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw failure(reply.error || `The server said ${response.status}.`,
      response.status >= 429);
  }
  return reply;
}
