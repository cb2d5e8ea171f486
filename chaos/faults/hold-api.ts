/**
 * Callers that connect to an API and then send nothing more, in the middle of a request: before its headers, within
 * them, within a small body, and within an upload. They never hang up; the API has to.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stand } from '../stand/stand.ts';
import { type Fault, oneOf } from './fault.ts';

const CALLERS = 40;

export const holdApi: Fault = {
  least: 0,
  most: 500,
  places: () => ['callers'],
  async strike(stand, slot, forMs) {
    const { port } = oneOf(stand.apis, slot);
    const starts = startsOf(stand);
    for (let n = 0; n < CALLERS; n++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {}); // the API hangs up, as it has to
      socket.resume().unref();
      socket.write(oneOf(starts, n));
    }
    await sleep(forMs);
  },
};

function startsOf({ token }: Stand): string[] {
  const head = (path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: muster\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\n`;
  const session = `${head('/v2beta/sessions', 'application/json')}Content-Length: 900\r\n\r\n{"checks":`;
  // Few of these, as the uploads of a caller are limited.
  const upload = `${head('/admin/v1/import?timeout=1m', 'application/x-ndjson')}Content-Length: 900\r\n\r\n{"orgId":`;
  return ['', 'GET / HTTP/1.1\r\nHost: mus', session, session, session, session, '', session, '', upload];
}
