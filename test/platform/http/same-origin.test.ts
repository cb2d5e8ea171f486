import assert from 'node:assert/strict';
import test from 'node:test';
import type { Request } from 'express';
import { requireOurs } from '../../../src/platform/http/origins.ts';

const OURS = 'https://id.example';

/** Whether a form with these headers is read. */
function isRead(headers: Record<string, string | undefined>): boolean {
  const all: Record<string, string | undefined> = { host: 'internal:8080', ...headers };
  const req = { method: 'POST', protocol: 'http', get: (name: string) => all[name] } as unknown as Request;
  try {
    requireOurs(req, OURS);
    return true;
  } catch (error) {
    assert.equal((error as { id: string }).id, 'PAGE-ORIGIN');
    return false;
  }
}

test('forms of our pages, of a person and of programs are read', () => {
  for (const headers of [
    {},
    { origin: OURS },
    { origin: 'http://internal:8080' },
    { referer: `${OURS}/console/users?q=x` },
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'none', origin: 'null' },
  ]) {
    assert(isRead(headers), JSON.stringify(headers));
  }
});

test('forms of other sites are refused, whichever header says it', () => {
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `${OURS}.evil.example` },
    { origin: 'https://evil.example', referer: `${OURS}/` },
    { referer: 'https://evil.example/console' },
    { referer: `${OURS}.evil.example/` },
    { referer: 'no address' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: OURS },
    { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
    { 'sec-fetch-site': '' },
  ]) {
    assert(!isRead(headers), JSON.stringify(headers));
  }
});
