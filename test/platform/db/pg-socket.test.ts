/** pg keeps its socket where `socketOf` (src/platform/db/client.ts) reads it. */
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { it } from 'node:test';
import pg from 'pg';
import { socketOf } from '../../../src/platform/db/client.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

it('the socket of a connection is the one that its statements use', async (t) => {
  const db = await testDatabase(t);
  const client = new pg.Client({ connectionString: db.url });
  client.on('error', () => {}); // the connection is destroyed below
  await client.connect();
  const socket = socketOf(client);
  assert.ok(socket instanceof Socket);
  const sent = socket.bytesWritten;
  await client.query('select 1');
  assert.ok(socket.bytesWritten > sent);
  socket.destroy(new Error('cut'));
  await assert.rejects(client.query('select 1'));
  await db.drop();
});

it('a client without one is refused by name', () => {
  assert.throws(() => socketOf({} as pg.ClientBase), /no socket at client\.connection\.stream/);
});
