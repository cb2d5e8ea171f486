/** Organizations share the sender slots, whatever their receivers do. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { pino } from 'pino';
import { claimWebhooks } from '../../../src/messages/webhooks/outbox.ts';
import {
  openSenderSlots,
  RESERVED,
  type SenderSlots,
  SHARE,
  SLOTS,
  type WebhookDeps,
} from '../../../src/messages/webhooks/sender.ts';
import { setWebhookSecret } from '../../../src/messages/webhooks/signature.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { startWebhookSender } from '../../../workers/webhooks.ts';
import { addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';
import { type HeldReceiver, startHeldReceiver } from '../../support/webhooks/held-receiver.ts';

const SECRETS = openSecrets(Buffer.alloc(32, 9).toString('base64'));
const SLOW = Array.from({ length: SLOTS }, (_, n) => `slow${n}`);
/** Attempts end because the test says so. */
const NEVER_MS = 3_600_000;
const MANY = SLOTS + 5;

describe('sender slots', () => {
  let db: TestDatabase;
  let receiver: HeldReceiver;
  let importId: string;
  let stopping: AbortController;
  /** Ends what the test began, though the receiver holds it. */
  const opened: { end(): Promise<unknown> }[] = [];

  before(async () => {
    db = await testDatabase({ name: 'sender slots' });
    await addOrgs(db.pool, 'quick', ...SLOW);
    for (const org of ['quick', ...SLOW]) await setWebhookSecret(db.pool, SECRETS, org, 'admin');
    const { rows } = await db.pool.query(
      `insert into imports (kind, state, created_by, resource_owner) values ('bulk', 'succeeded', 'admin', 'quick')
       returning id`,
    );
    importId = rows[0].id;
  });
  beforeEach(async () => {
    await db.pool.query('delete from webhook_deliveries');
    receiver = await startHeldReceiver();
    receiver.open('quick');
    stopping = new AbortController();
  });
  afterEach(async () => {
    stopping.abort();
    await Promise.all(opened.splice(0).map((one) => one.end()));
    await receiver.stop();
  });
  after(() => db.drop());

  const logger = pino({ level: 'silent' });
  /** Adds due messages of an organization, with their bodies; they wait longer than those that are added later. */
  async function addDue(orgId: string, count = 1): Promise<void> {
    await db.pool.query(
      `insert into webhook_deliveries (import_id, org_id, url, body, next_attempt_at)
       select $1, $2, $3, '{}', clock_timestamp() from generate_series(1, $4)`,
      [importId, orgId, receiver.url(orgId), count],
    );
  }
  async function count(where: string): Promise<number> {
    const { rows } = await db.pool.query(`select count(*)::int as n from webhook_deliveries where ${where}`);
    return rows[0].n;
  }
  const quickIsSent = () =>
    waitFor(() => count(`org_id = 'quick' and state = 'sent'`), { what: 'the message of the quick organization' });
  const allHeld = () => SLOW.reduce((sum, orgId) => sum + receiver.held(orgId), 0);
  const holds = (total: number) => waitFor(() => allHeld() === total, { what: `${total} held messages` });
  const arrivals = (orgId: string) => receiver.arrived.filter(({ path }) => path === orgId).length;

  function startSender(): { stop(): Promise<void> } {
    const config = { WEBHOOK_ALLOW_PRIVATE: true };
    const sender = startWebhookSender({ pool: db.pool, config, secrets: SECRETS, logger, attemptMs: NEVER_MS });
    opened.push({ end: () => sender.stop() });
    return sender;
  }
  function openSlots(changes: Partial<WebhookDeps> = {}): SenderSlots {
    const slots = openSenderSlots({
      pool: db.pool,
      secrets: SECRETS,
      logger,
      compose: async () => '{}',
      post: { allowPrivate: true, attemptMs: NEVER_MS, signal: stopping.signal },
      ...changes,
    });
    opened.push({ end: () => slots.idle().catch(() => {}) });
    return slots;
  }

  it('deliver a message while another organization has more messages held than there are slots', async () => {
    await addDue('slow0', MANY);
    startSender();
    await holds(SHARE);
    await addDue('quick');
    await quickIsSent();
    assert.equal(receiver.held('slow0'), SHARE);
    assert.equal(arrivals('slow0'), SHARE);
  });

  it('are filled again one by one, while the others are held', async () => {
    await addDue('slow0', MANY);
    startSender();
    await holds(SHARE);
    for (let accepted = 1; accepted <= 2; accepted++) {
      receiver.acceptOne('slow0');
      await waitFor(() => arrivals('slow0') === SHARE + accepted, { what: 'the next message' });
      await holds(SHARE);
    }
    await waitFor(async () => (await count(`state = 'sent'`)) === 2, { what: 'both outcomes' });
  });

  it('are those of each process, and no two processes send the same message', async () => {
    await addDue('slow0', MANY);
    startSender();
    startSender();
    await holds(2 * SHARE);
    assert.equal(new Set(receiver.arrived.map(({ id }) => id)).size, 2 * SHARE);
  });

  it('are free after a stop, and all messages are due at once, without an attempt', async () => {
    await addDue('slow0', MANY);
    const sender = startSender();
    await holds(SHARE);
    await sender.stop();
    assert.equal(await count(`state = 'pending' and attempts = 0 and next_attempt_at <= clock_timestamp()`), MANY);
    assert.equal(arrivals('slow0'), SHARE);
  });

  it('are reserved in part for organizations without a message in progress', async () => {
    const hostile = SLOW.slice(0, 7);
    for (const orgId of hostile) await addDue(orgId, MANY);
    const slots = openSlots();
    assert.equal(await slots.fill(), SLOTS - RESERVED);
    await holds(SLOTS - RESERVED);
    assert.ok(hostile.every((orgId) => receiver.held(orgId) >= 1 && receiver.held(orgId) <= SHARE));
    assert.equal(await slots.fill(), 0);
    await addDue('quick', 2);
    assert.equal(await slots.fill(), 1);
    await quickIsSent();
    assert.equal(allHeld(), SLOTS - RESERVED);
  });

  it('go to the organization that was served longest ago, when all were taken', async () => {
    for (const orgId of SLOW) await addDue(orgId, MANY);
    const slots = openSlots();
    assert.equal(await slots.fill(), SLOTS);
    await holds(SLOTS);
    assert.ok(slots.areTaken());
    await addDue('quick');
    assert.equal(await slots.fill(), 0);
    receiver.acceptOne('slow0');
    await new Promise<void>((wake) => slots.untilFree(wake));
    assert.equal(await slots.fill(), 1);
    await quickIsSent();
    assert.equal(receiver.arrived.length, SLOTS + 1);
  });

  it('wake nobody before one is free, and at once if one became free before the wait', async () => {
    await addDue('slow0');
    const slots = openSlots();
    await slots.fill();
    await holds(1);
    let woken = 0;
    const wake = () => void woken++;
    const end = slots.untilFree(wake);
    assert.equal(woken, 0);
    receiver.acceptOne('slow0');
    await slots.idle();
    assert.equal(woken, 1);
    end();
    slots.untilFree(wake)();
    assert.equal(woken, 2);
  });

  it('tell a failure of the database once, and become free', async () => {
    await addDue('quick');
    await db.pool.query('update webhook_deliveries set body = null');
    const slots = openSlots({ compose: () => Promise.reject(new Error('no database')) });
    assert.equal(await slots.fill(), 1);
    await new Promise<void>((wake) => slots.untilFree(wake));
    await assert.rejects(slots.fill(), /no database/);
    assert.equal(await slots.fill(), 0);
    await slots.idle();
  });
});

describe('a claim', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'webhook claims' });
    await db.pool.query(
      `with i as (
         insert into imports (kind, state, created_by, resource_owner) values ('bulk', 'succeeded', 'a', 'a') returning id)
       insert into webhook_deliveries (import_id, org_id, url, next_attempt_at)
       select i.id, org, 'https://x.example', now() - age * interval '1 minute' from i, (values
         ('a', 9), ('a', 8), ('a', 7), ('b', 6), ('c', 5), ('c', 4), ('later', -5)) as m (org, age)`,
    );
  });
  after(() => db.drop());

  it('takes one message of each organization, by turns, and none that is not due', async () => {
    const claim = async (limit: number, more: { except?: string[]; last?: string[] } = {}) => {
      const claimed = await claimWebhooks(db.pool, { limit, holdMs: 3_600_000, ...more });
      return claimed.map(({ orgId }) => orgId).sort();
    };
    assert.deepEqual(await claim(2), ['a', 'b']);
    assert.deepEqual(await claim(1, { last: ['a'] }), ['c']);
    assert.deepEqual(await claim(1, { last: ['a', 'c'] }), ['a']);
    assert.deepEqual(await claim(9, { except: ['a'] }), ['c']);
    assert.deepEqual(await claim(9), ['a']);
    assert.deepEqual(await claim(9), []);
  });
});
