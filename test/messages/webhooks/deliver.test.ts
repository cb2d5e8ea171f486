import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import { RETRY_DELAYS_MS, type WebhookDeps } from '../../../src/messages/webhooks/sender.ts';
import { setWebhookSecret } from '../../../src/messages/webhooks/signature.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { addOrgs, type Row } from '../../support/imports/imports.ts';
import { isGenuine, type Receiver, startReceiver } from '../../support/receiver.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { sendDue } from '../../support/webhooks/send-due.ts';

const SECRETS = openSecrets(Buffer.alloc(32, 9).toString('base64'));

describe('the delivery of webhooks', () => {
  let db: TestDatabase;
  let receiver: Receiver;
  let secret: string;
  const logged: string[] = [];
  before(async () => {
    [db, receiver] = await Promise.all([testDatabase({ name: 'webhooks' }), startReceiver()]);
    await addOrgs(db.pool, 'org');
    secret = (await setWebhookSecret(db.pool, SECRETS, 'org', 'admin')).secret;
  });
  beforeEach(async () => {
    await db.pool.query('delete from imports');
    receiver.messages.splice(0);
    receiver.answer();
  });
  after(async () => {
    await receiver.stop();
    await db.drop();
  });

  /** Adds an import with a webhook that ends in this state. */
  async function ended(state = 'succeeded'): Promise<string> {
    const { rows } = await db.pool.query(
      `insert into imports (kind, state, created_by, resource_owner, webhook_url, webhook_org)
       values ('bulk', 'running', 'admin', 'org', $1, 'org') returning id`,
      [receiver.url],
    );
    await db.pool.query('update imports set state = $2 where id = $1', [rows[0].id, state]);
    return rows[0].id;
  }
  const rows = async (): Promise<Row[]> =>
    (
      await db.pool.query(
        `select *, round(extract(epoch from next_attempt_at - clock_timestamp()))::int as due_in
         from webhook_deliveries order by id`,
      )
    ).rows;
  const makeDue = () => db.pool.query('update webhook_deliveries set next_attempt_at = now()');
  function deps(changes: Partial<WebhookDeps> = {}): WebhookDeps {
    return {
      pool: db.pool,
      secrets: SECRETS,
      logger: pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
      compose: async ({ importId }) => JSON.stringify({ importId, at: Math.random() }),
      post: { allowPrivate: true },
      ...changes,
    };
  }

  it('reports every end of an import, whatever its cause, and nothing in between', async () => {
    for (const state of ['succeeded', 'completed_with_errors', 'timed_out', 'cancelled', 'undone']) await ended(state);
    for (const state of ['running', 'paused', 'undoing']) await ended(state);
    assert.equal(await sendDue(deps()), 5);
    assert.equal(receiver.messages.length, 5);
    assert.equal(new Set(receiver.messages.map((m) => m.headers['webhook-id'])).size, 5);
    assert.ok(receiver.messages.every((m) => isGenuine(secret, m)));
    assert.ok((await rows()).every((row) => row.state === 'sent' && row.attempts === 1 && row.settled_at));
    assert.equal(await sendDue(deps()), 0);
  });

  it('signs with the time of PostgreSQL, as the clock of the process may be wrong', async (t) => {
    const now = Date.now.bind(Date);
    await ended();
    t.mock.method(Date, 'now', () => now() + 2 * 3600 * 1000);
    assert.equal(await sendDue(deps()), 1);
    const [message] = receiver.messages;
    assert.ok(Math.abs(Number(message?.headers['webhook-timestamp']) - now() / 1000) < 300);
  });

  it('writes no message for an import without a webhook', async () => {
    await db.pool.query(
      `insert into imports (kind, state, created_by, resource_owner) values ('bulk', 'running', 'admin', 'org')`,
    );
    await db.pool.query(`update imports set state = 'succeeded'`);
    assert.deepEqual(await rows(), []);
  });

  it('retries with the same id and body and growing pauses, and signs each attempt again', async () => {
    await ended();
    receiver.answer(500, 302, 429, 200);
    for (const delay of [...RETRY_DELAYS_MS.slice(0, 3), undefined]) {
      assert.equal(await sendDue(deps()), 1);
      const [row] = await rows();
      // Nobody reads the body of a settled message any more.
      if (delay === undefined) assert.deepEqual([row?.state, row?.body], ['sent', null]);
      else assert.ok(Math.abs(row?.due_in - delay / 1000) <= 2, `${row?.due_in}`);
      await makeDue();
    }
    assert.equal(new Set(receiver.messages.map((m) => m.headers['webhook-id'])).size, 1);
    assert.equal(new Set(receiver.messages.map((m) => m.raw)).size, 1);
    assert.ok(receiver.messages.every((m) => isGenuine(secret, m)));
  });

  it('gives up after the last attempt, and at once after 410', async () => {
    await ended();
    receiver.answer(500, 500);
    await sendDue(deps({ retryDelaysMs: [0] }));
    await sendDue(deps({ retryDelaysMs: [0] }));
    assert.deepEqual(
      (await rows()).map((r) => [r.state, r.attempts, r.last_error]),
      [['failed', 2, 'answered 500']],
    );
    await db.pool.query('delete from webhook_deliveries');
    await ended();
    receiver.answer(410);
    await sendDue(deps());
    assert.deepEqual(
      (await rows()).map((r) => [r.state, r.attempts]),
      [['failed', 1]],
    );
    assert.ok(RETRY_DELAYS_MS.length >= 6 && RETRY_DELAYS_MS.every((ms, i, all) => i === 0 || ms > (all[i - 1] ?? 0)));
  });

  it('happens once with many senders, and again after one has crashed', async () => {
    await Promise.all(Array.from({ length: 12 }, () => ended()));
    const rounds = await Promise.all([1, 2, 3].map(() => sendDue(deps())));
    assert.equal(
      rounds.reduce((a, b) => a + b, 0),
      12,
    );
    assert.equal(receiver.messages.length, 12);
    await ended();
    await db.pool.query(
      `update webhook_deliveries set next_attempt_at = now() + interval '1 minute' where state = 'pending'`,
    );
    assert.equal(await sendDue(deps()), 0, 'another sender holds it');
    await makeDue();
    assert.equal(await sendDue(deps()), 1);
  });

  it('drops a message with nothing left to report', async () => {
    await ended();
    await sendDue(deps({ compose: async () => undefined }));
    assert.deepEqual(await rows(), []);
    assert.deepEqual(receiver.messages, []);
  });

  it('is interrupted by a stop without counting an attempt', async () => {
    await ended();
    receiver.answer('silence');
    const stopping = new AbortController();
    const round = sendDue(deps({ post: { allowPrivate: true, signal: stopping.signal } }));
    setImmediate(() => stopping.abort());
    await round;
    const [row] = await rows();
    assert.deepEqual([row?.state, row?.attempts], ['pending', 0]);
    assert.ok(row?.due_in <= 0);
  });

  it('uses no private address unless that is allowed', async () => {
    await ended();
    await sendDue(deps({ post: { allowPrivate: false } }));
    assert.deepEqual(receiver.messages, []);
    assert.match((await rows())[0]?.last_error, /https/);
  });

  it('logs neither URL nor secret', () => {
    assert.ok(logged.length > 0);
    assert.doesNotMatch(logged.join(''), /whsec_|127\.0\.0\.1|hook\?/);
  });
});
