import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import pino from 'pino';
import { openQueues, type Queues } from '../../../src/imports/queue/queues.ts';
import { readConfig } from '../../../src/platform/config.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { type Mailer, startMailer } from '../../../workers/mailer.ts';
import { type SmtpCatcher, startSmtp } from '../../support/smtp.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';
import { addImport, addMail, addOrg, addPerson, outboxRow } from './rows.ts';

for (const backend of ['postgres', 'redis'] as const) {
  describe(`the mailer on ${backend}`, () => {
    const secrets = openSecrets(randomBytes(32).toString('base64'));
    const logger = pino({ level: 'silent' });
    let db: TestDatabase;
    let smtp: SmtpCatcher;

    before(async () => {
      db = await testDatabase({ name: `mailer ${backend}` });
      await addOrg(db.pool);
      smtp = await startSmtp();
    });
    after(async () => {
      await smtp.stop();
      await db.drop();
    });

    /** Queues with any number of mailers, all stopped when the test ends. */
    function running(t: TestContext, env: Record<string, string> = {}, retryDelaysMs?: number[]) {
      const config = readConfig({
        DATABASE_URL: db.url,
        SMTP_URL: smtp.url,
        QUEUE_PREFIX: `mailer-${randomBytes(4).toString('hex')}`,
        ...(backend === 'redis' ? { REDIS_URL: redisUrl() } : {}),
        ...env,
      });
      const queues: Queues = openQueues({ ...config, DATABASE_URL: db.url });
      const mailers: Mailer[] = [];
      t.after(async () => {
        await Promise.all(mailers.map((m) => m.stop()));
        await queues.close();
      });
      const start = () => {
        const mailer = startMailer({
          pool: db.pool,
          config,
          secrets,
          queues,
          logger,
          ...(retryDelaysMs ? { retryDelaysMs } : {}),
        });
        mailers.push(mailer);
        return mailer;
      };
      return { queues, start };
    }

    async function addMails(count: number, label: string): Promise<{ importId: string; ids: string[] }> {
      const importId = await addImport(db.pool, count);
      const ids: string[] = [];
      for (let i = 0; i < count; i++) {
        const userId = `${label}-${i}`;
        await addPerson(db.pool, { id: userId, email: `${userId}@example.com` });
        ids.push((await addMail(db.pool, { kind: 'verify_email', userId, importId })).outboxId);
      }
      return { importId, ids };
    }

    const sentOf = async (importId: string) => {
      const { rows } = await db.pool.query<{ mails_sent: number }>('select mails_sent from imports where id = $1', [
        importId,
      ]);
      return rows[0]?.mails_sent;
    };
    const receivers = (label: string) => smtp.mails.flatMap((m) => m.to).filter((to) => to.startsWith(`${label}-`));

    it('sends each mail once with two mailers', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      const { start, queues } = running(t);
      const { importId } = await addMails(60, 'two');
      start();
      start();
      await waitFor(async () => (await sentOf(importId)) === 60, { what: '60 mails sent' });
      assert.equal(receivers('two').length, 60);
      assert.equal(new Set(receivers('two')).size, 60);
      await waitFor(async () => (await queues.depth('mails')) === 0, { what: 'an empty queue' });
    });

    it('retries a refused mail automatically', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      smtp.refuse({ after: 'DATA', code: 451, times: 2 });
      const { importId, ids } = await addMails(1, 'again');
      running(t, {}, [0, 0]).start();
      await waitFor(async () => (await sentOf(importId)) === 1, { what: 'the mail after two refusals' });
      assert.equal((await outboxRow(db.pool, ids[0] as string)).attempts, 3);
      assert.equal(receivers('again').length, 1);
    });

    it('loses nothing when it is stopped or its queue is emptied', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      const { importId } = await addMails(100, 'stop');
      const { start, queues } = running(t);
      const first = start();
      await waitFor(() => receivers('stop').length > 0, { what: 'the first mail' });
      await Promise.all([first.stop(), first.stop()]);
      const { rows } = await db.pool.query(
        `select count(*)::int as n from mail_outbox where state = 'sent' and import_id = $1`,
        [importId],
      );
      assert.equal(rows[0].n, receivers('stop').length, 'all sent mails are recorded');
      await queues.drop('mails');
      await db.pool.query(`update mail_outbox set next_attempt_at = now() where state = 'pending'`);
      start();
      await waitFor(async () => (await sentOf(importId)) === 100, { what: 'the other mails' });
      assert.equal(receivers('stop').length, 100);
    });

    it('keeps the rate over all mailers', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      const { start } = running(t, { MAIL_RATE: '5' });
      const { importId } = await addMails(11, 'rate');
      // Not measured from the first mail: on a busy machine it is seen later than it was sent.
      const began = performance.now();
      start();
      start();
      await waitFor(async () => (await sentOf(importId)) === 11, { what: '11 mails' });
      // Ten fifths of a second are between the first and the last.
      assert.ok(performance.now() - began > 1900, `${performance.now() - began} ms`);
    });

    it('stops without waiting for the rate, and releases mails that it did not send', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      const free = `insert into mail_pace values ('mails', now() + interval '30 seconds')
        on conflict (name) do update set free_at = excluded.free_at returning free_at`;
      const { free_at: first } = (await db.pool.query(free)).rows[0];
      const mailer = running(t, { MAIL_RATE: '1' }).start();
      await addMails(5, 'halt');
      const taken = async () => (await db.pool.query('select free_at - $1 as ahead from mail_pace', [first])).rows[0];
      await waitFor(async () => (await taken()).ahead.seconds >= 5, { what: 'every mail to have its slot' });
      const began = performance.now();
      await mailer.stop();
      assert.ok(performance.now() - began < 20_000, `${performance.now() - began} ms, and none may go before 30 s`);
      const { rows } = await db.pool.query(
        `select count(*)::int as due from mail_outbox where state = 'pending' and next_attempt_at <= now()`,
      );
      assert.equal(rows[0].due, 5);
      await db.pool.query(`delete from mail_outbox where state = 'pending'`);
      await db.pool.query('delete from mail_pace');
    });

    it('keeps the rate of one import without delaying others', async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      const { start } = running(t, { MAIL_RATE_PER_IMPORT: '5' });
      const [large, small] = [await addMails(300, 'large'), await addMails(3, 'small')];
      start();
      start();
      await waitFor(async () => (await sentOf(small.importId)) === 3, { what: 'the mails of the small one' });
      const claimed = async () => {
        const { rows } = await db.pool.query<{ n: number }>(
          `select count(*)::int as n from mail_outbox
           where import_id = $1 and (state <> 'pending' or next_attempt_at > now())`,
          [large.importId],
        );
        return rows[0]?.n;
      };
      // What a late start has claimed at once is not to count.
      await waitFor(async () => (await claimed()) === receivers('large').length, { what: 'no mail in transit' });
      const [began, before] = [performance.now(), receivers('large').length];
      // A minute's worth.
      assert.ok(before < 300, 'the large one is not done yet');
      await waitFor(() => receivers('large').length >= before + 8, { what: 'eight more mails' });
      // A burst of one mail and a tenth of a second's worth is allowed.
      assert.ok(performance.now() - began > 900, `${performance.now() - began} ms`);
    });
  });
}
