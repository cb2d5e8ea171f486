/** Live pages: how often what they show is read. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import express from 'express';
import { openLive } from '../../../src/console/shell/live.ts';

test('pages that connect at the same time share one reading', async (t) => {
  const live = openLive();
  const gate = Promise.withResolvers<void>();
  let readings = 0;
  const read = async () => {
    readings++;
    await gate.promise;
    return { shape: 'running', text: { done: '7' } };
  };
  const app = express();
  let connected = 0;
  const all = Promise.withResolvers<void>();
  app.get('/live', (_req, res) => {
    res.locals.session = { caller: { userId: 'ann', orgId: 'acme' }, tokens: { accessToken: 'a' } };
    const stream = live.stream(res, 'imports/1', read);
    if (++connected === 5) all.resolve();
    return stream;
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });

  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/live`;
  const opened = Array.from({ length: 5 }, () => fetch(url, { signal: stop.signal }));
  await all.promise;
  assert.equal(readings, 1);
  gate.resolve();
  for (const { body } of await Promise.all(opened)) {
    const piece = await body?.getReader().read();
    assert.match(new TextDecoder().decode(piece?.value), /^data: \{"shape":"running","text":\{"done":"7"\}\}\n\n/);
  }
});
