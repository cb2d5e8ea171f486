import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import pino from 'pino';
import { openQueues } from '../../../src/imports/queue/queues.ts';
import {
  type BatchCommitter,
  type Delivery,
  deliverMail,
  openBatchCommitter,
  openBatchLoader,
} from '../../../src/messages/mail/deliver.ts';
import { mailboxFolder } from '../../../src/messages/mail/mailbox.ts';
import type { TextTransport } from '../../../src/messages/mail/message.ts';
import { openTransport } from '../../../src/messages/mail/open-transport.ts';
import { recordDeliveries } from '../../../src/messages/mail/relay.ts';
import { openSmsGateway } from '../../../src/messages/mail/sms-gateway.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { startMailer } from '../../../workers/mailer.ts';
import { type SmsGateway, startSmsGateway } from '../../support/sms.ts';
import { urlsIn } from '../../support/smtp.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';
import { services } from './deliveries.ts';
import { addMail, addOrg, addPerson, outboxRow } from './rows.ts';

const PHONE = '+41791234567';
const MINUTE = 60_000;

describe('text messages', () => {
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  const logger = pino({ level: 'silent' });
  let db: TestDatabase;
  let gateway: SmsGateway;
  let dataDir: string;

  before(async () => {
    db = await testDatabase({ name: 'sms' });
    await addOrg(db.pool, 'Acme');
    gateway = await startSmsGateway();
    dataDir = await mkdtemp(join(tmpdir(), 'muster-sms-'));
  });
  beforeEach(async () => {
    await db.pool.query('delete from users');
    await addPerson(db.pool, { id: 'u1', phone: PHONE });
    gateway.requests.length = 0;
    gateway.answer();
  });
  after(async () => {
    await gateway.stop();
    await db.drop();
    await rm(dataDir, { recursive: true });
  });

  const settler = () => openBatchCommitter((group) => recordDeliveries(db.pool, group));
  const addText = (codeTtlMs = 10 * MINUTE) => addMail(db.pool, { kind: 'verify_phone', userId: 'u1', codeTtlMs });

  function deliver(id: string, attempt = 0, changes: { texts?: TextTransport; settler?: BatchCommitter } = {}) {
    const { config } = services;
    const transport = openTransport({ DATA_DIR: dataDir });
    const deps = {
      pool: db.pool,
      secrets,
      config,
      transport,
      texts: openSmsGateway(gateway.url),
      logger,
      risk: { existsFor: () => false, since: () => false },
      loader: openBatchLoader(db.pool),
    };
    return deliverMail({ ...deps, settler: settler(), ...changes }, { id, attempt });
  }

  it('are sent to the gateway with the code and no URL, and no email is sent', async () => {
    const { outboxId, codeId } = await addText();
    assert.equal(await deliver(outboxId), 'sent');
    assert.equal(gateway.requests.length, 1);
    const [request] = gateway.requests;
    assert.ok(request);
    assert.deepEqual(
      [request.method, request.path, request.headers['content-type']],
      ['POST', '/send', 'application/json'],
    );
    assert.deepEqual(Object.keys(request.body), ['to', 'text']);
    assert.equal(request.body.to, PHONE);
    assert.ok(request.body.text.startsWith(`Acme: ${secrets.code(codeId, 0)} is your code`), request.body.text);
    assert.deepEqual(urlsIn(request.body.text), []);
    assert.equal((await outboxRow(db.pool, outboxId)).state, 'sent');
    assert.deepEqual(await readdir(dataDir), []);
  });

  it('are retried after 500, with the same text', async () => {
    const { outboxId } = await addText();
    gateway.answer(500);
    assert.equal(await deliver(outboxId), 'retry');
    const row = await outboxRow(db.pool, outboxId);
    assert.deepEqual([row.state, row.attempts, row.last_error], ['pending', 1, 'SMS gateway answered 500']);
    assert.equal(await deliver(outboxId, 1), 'sent');
    const [first, second] = gateway.requests;
    assert.equal(second?.raw, first?.raw);
    assert.ok(first?.headers['idempotency-key']);
    assert.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key']);
  });

  it('fail with 400, which is about the message', async () => {
    const { outboxId, codeId } = await addText();
    gateway.answer(400);
    assert.equal(await deliver(outboxId), 'failed');
    const row = await outboxRow(db.pool, outboxId);
    assert.deepEqual([row.state, row.last_error], ['failed', 'SMS gateway answered 400']);
    assert.ok(!row.last_error?.includes(secrets.code(codeId, 0)));
  });

  it('are retried when the refusal is about us or temporary', async () => {
    for (const status of [301, 401, 403, 408, 429, 503]) {
      const { outboxId } = await addText();
      gateway.answer(status);
      assert.equal(await deliver(outboxId), 'retry', `${status}`);
    }
    assert.ok(
      gateway.requests.every((r) => r.path === '/send'),
      'a redirect is not followed',
    );
  });

  it('are retried when the gateway is unreachable or does not answer', async () => {
    const nobody = await startSmsGateway();
    await nobody.stop();
    const { outboxId } = await addText();
    assert.equal(await deliver(outboxId, 0, { texts: openSmsGateway(nobody.url) }), 'retry');
    assert.equal((await outboxRow(db.pool, outboxId)).last_error, 'SMS gateway: ECONNREFUSED');
    gateway.answer('silence');
    assert.equal(await deliver(outboxId, 1, { texts: openSmsGateway(gateway.url, 50) }), 'retry');
    assert.match((await outboxRow(db.pool, outboxId)).last_error ?? '', /timeout/);
  });

  it('are not retried if the code would expire', async () => {
    const { outboxId } = await addText(4000);
    gateway.answer(500);
    assert.equal(await deliver(outboxId), 'failed');
  });

  it('authenticate with user and password of the URL', async () => {
    const url = gateway.url.replace('http://', 'http://acme:p%40ss@');
    const { outboxId } = await addText();
    assert.equal(await deliver(outboxId, 0, { texts: openSmsGateway(url) }), 'sent');
    const expected = `Basic ${Buffer.from('acme:p@ss').toString('base64')}`;
    assert.equal(gateway.requests[0]?.headers.authorization, expected);
  });

  it('are sent again unchanged after a crash between the send and its record', async () => {
    const { outboxId } = await addText();
    const crash = { settle: () => Promise.reject(new Error('crashed')) };
    await assert.rejects(deliver(outboxId, 0, { settler: crash }), /crashed/);
    assert.equal(await deliver(outboxId), 'sent');
    assert.equal(gateway.requests[1]?.raw, gateway.requests[0]?.raw);
  });

  it('fail when the number was removed', async () => {
    const { outboxId } = await addText();
    await db.pool.query('update users set phone = null');
    assert.equal(await deliver(outboxId), 'failed');
    assert.match((await outboxRow(db.pool, outboxId)).last_error ?? '', /no phone number/);
    assert.equal(gateway.requests.length, 0);
  });

  describe('by the mailer', () => {
    /** Runs a mailer until the row has settled. */
    async function run(env: Record<string, string>, outboxId: string): Promise<Delivery> {
      const QUEUE_PREFIX = `sms-${randomBytes(4).toString('hex')}`;
      const config = readConfig({ DATABASE_URL: db.url, DATA_DIR: dataDir, QUEUE_PREFIX, ...env });
      const queues = openQueues({ ...config, DATABASE_URL: db.url });
      const mailer = startMailer({ pool: db.pool, config, secrets, queues, logger, retryDelaysMs: [0, 0] });
      const settled = async () => (await outboxRow(db.pool, outboxId)).state !== 'pending';
      await waitFor(settled, { what: 'the text message' }).finally(async () => {
        await mailer.stop();
        await queues.close();
      });
      return (await outboxRow(db.pool, outboxId)).state as Delivery;
    }

    it('reach SMS_URL after a refusal', async () => {
      const { outboxId } = await addText();
      gateway.answer(500);
      assert.equal(await run({ SMS_URL: gateway.url }, outboxId), 'sent');
      assert.equal(gateway.requests.length, 2);
    });

    it('are files in the mailbox without SMS_URL', async () => {
      const { outboxId, codeId } = await addText();
      assert.equal(await run({}, outboxId), 'sent');
      const folder = mailboxFolder({ DATA_DIR: dataDir });
      const files = await readdir(folder);
      assert.deepEqual(files, [`sms-${outboxId.padStart(8, '0')}.txt`]);
      const content = await readFile(join(folder, files[0] as string), 'utf8');
      assert.ok(content.startsWith(`To: ${PHONE}\n\nAcme: ${secrets.code(codeId, 0)} is`), content);
    });
  });
});
