import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { QueryConfig } from 'pg';
import pino from 'pino';
import type { Db } from '../../src/db/pool.ts';
import { openBatchCommitter } from '../../src/mail/batch-committer.ts';
import { openBatchLoader } from '../../src/mail/batch-loader.ts';
import { claimDue } from '../../src/mail/claim.ts';
import { type DeliverDeps, deliverMail, RETRY_DELAYS_MS } from '../../src/mail/deliver.ts';
import { enqueueNotice, type MailPointer } from '../../src/mail/outbox.ts';
import { settleMails } from '../../src/mail/settle.ts';
import { openSmsGateway } from '../../src/mail/sms-gateway.ts';
import { openSmtp } from '../../src/mail/smtp.ts';
import type { Transport } from '../../src/mail/transport.ts';
import { openSecrets } from '../../src/secrets.ts';
import { type MailDoubts, openDoubts } from '../../workers/doubts.ts';
import { type SmtpCatcher, startSmtp, urlsIn } from '../support/smtp.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { addImport, addMail, addOrg, addPerson, outboxRow } from './rows.ts';

describe('delivery over SMTP', () => {
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  const config = { baseUrl: 'https://id.example.org', MAIL_FROM: 'Muster <no-reply@id.example.org>' };
  let db: TestDatabase;
  let smtp: SmtpCatcher;
  let transport: Transport;

  before(async () => {
    db = await testDatabase({ name: 'delivery' });
    await addOrg(db.pool, 'Příliš & Co');
    smtp = await startSmtp();
    transport = openSmtp(smtp.url);
  });
  beforeEach(async () => {
    await db.pool.query('delete from users');
    await db.pool.query('delete from imports');
    smtp.mails.length = 0;
    smtp.refuse({ after: 'DATA', code: 451, times: 0 });
  });
  after(async () => {
    transport.close();
    await smtp.stop();
    await db.drop();
  });

  const settler = () => openBatchCommitter((group) => settleMails(db.pool, group));
  const texts = openSmsGateway('http://127.0.0.1:1');
  const logger = pino({ level: 'silent' });
  const doubts = openDoubts({ since: () => false });
  const services = { secrets, config, texts, logger, doubts };
  const deps = () => ({ pool: db.pool, transport, settler: settler(), loader: openBatchLoader(db.pool), ...services });
  function deliver(id: string, attempt = 0, changes: Partial<DeliverDeps> = {}) {
    return deliverMail({ ...deps(), ...changes }, { id, attempt });
  }
  async function importCounts(id: string) {
    const { rows } = await db.pool.query('select mails_sent, mails_failed from imports where id = $1', [id]);
    return rows[0];
  }

  it('loads mails that are asked for together in one statement, and those asked for meanwhile in the next', async () => {
    await addPerson(db.pool, { id: 'u1' });
    await addPerson(db.pool, { id: 'u2' });
    const one = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    const two = await addMail(db.pool, { kind: 'verify_email', userId: 'u2' });
    const asked: string[][] = [];
    let isAway = false;
    const query = (statement: QueryConfig<[string[]]>) => {
      asked.push(statement.values?.[0] ?? []);
      return isAway ? Promise.reject(new Error('away')) : db.pool.query(statement);
    };
    const { load } = openBatchLoader({ query } as unknown as Db);
    const first = [load(one.outboxId), load('0'), load(two.outboxId)];
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const later = [load(two.outboxId), load(one.outboxId)];
    const users = (await Promise.all([...first, ...later])).map((mail) => mail?.user_id);
    assert.deepEqual(users, ['u1', undefined, 'u2', 'u2', 'u1']);
    assert.deepEqual(asked, [
      [one.outboxId, '0', two.outboxId],
      [two.outboxId, one.outboxId],
    ]);
    isAway = true;
    const failed = await Promise.allSettled([load(one.outboxId), load(two.outboxId)]);
    assert.ok(failed.every((end) => end.status === 'rejected' && end.reason.message === 'away'));
    isAway = false;
    assert.equal((await load(one.outboxId))?.user_id, 'u1');
  });

  it('sends each kind of mail, with the right link and nothing else to click', async () => {
    await addPerson(db.pool, { id: 'auth0|1', email: 'žofie@example.com', displayName: 'Žofie' });
    for (const [kind, path] of [
      ['verify_email', '/ui/verify'],
      ['initialise', '/ui/init'],
      ['reset_password', '/ui/reset'],
    ] as const) {
      const { outboxId, codeId } = await addMail(db.pool, { kind, userId: 'auth0|1' });
      assert.equal(await deliver(outboxId), 'sent');
      const mail = smtp.mails.at(-1);
      assert.ok(mail);
      assert.deepEqual([mail.from, mail.to], ['no-reply@id.example.org', ['žofie@example.com']]);
      const parsed = await mail.parsed();
      assert.match(parsed.subject ?? '', /^Příliš & Co: /);
      const [link, ...others] = urlsIn(parsed.text ?? '');
      assert.equal(others.length, 0);
      assert.equal(link?.origin + (link?.pathname ?? ''), `https://id.example.org${path}`);
      assert.deepEqual(Object.fromEntries(link?.searchParams ?? []), {
        userId: 'auth0|1',
        code: secrets.code(codeId, 0),
      });
      assert.match(parsed.html ?? '', /Příliš &amp; Co/);
      assert.ok(parsed.html?.includes(`href="${String(link).replaceAll('&', '&amp;')}"`));
      assert.deepEqual(parsed.attachments, []);
      assert.equal((await outboxRow(db.pool, outboxId)).state, 'sent');
    }
  });

  it("holds the user's display name only if it goes to their verified address", async () => {
    const displayName = 'You won, call 555-0100';
    await addPerson(db.pool, { id: 'u1', displayName });
    const names = async (mail: { address?: string }) => {
      const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1', ...mail });
      await deliver(outboxId);
      const parsed = await smtp.mails.at(-1)?.parsed();
      return [parsed?.to, parsed?.text, parsed?.html].some((part) => JSON.stringify(part).includes('555-0100'));
    };
    assert.equal(await names({}), false, 'not verified');
    await db.pool.query('update users set email_verified = true');
    assert.equal(await names({ address: 'victim@example.com' }), false, 'a new address');
    assert.deepEqual(smtp.mails.at(-1)?.to, ['victim@example.com']);
    assert.equal(await names({}), true);
  });

  it('tells the old address of a change, without a link and without any words of the user', async () => {
    await addPerson(db.pool, { id: 'u1', displayName: 'Thief', userName: 'thief', email: 'new@example.com' });
    await enqueueNotice(db.pool, { kind: 'email_changed', userId: 'u1', address: 'old@example.com' });
    const { rows } = await db.pool.query<{ id: string }>('select id from mail_outbox');
    smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 1 });
    assert.equal(await deliver(rows[0]?.id ?? ''), 'retry');
    assert.equal(await deliver(rows[0]?.id ?? '', 1), 'sent');
    const parsed = await smtp.mails[0]?.parsed();
    assert.deepEqual(smtp.mails[0]?.to, ['old@example.com']);
    assert.equal(parsed?.subject, 'Příliš & Co: Your email address is being changed');
    assert.deepEqual(urlsIn(parsed?.text ?? ''), []);
    assert.doesNotMatch(parsed?.html ?? '', /href|thief/i);
    assert.match(parsed?.text ?? '', /replace this email address/);
  });

  it("follows the caller's URL template", async () => {
    await addPerson(db.pool, { id: 'auth0|1' });
    const urlTemplate = 'https://app.example/v?userId={{.UserID}}&code={{.Code}}&org={{.OrgID}}';
    const { outboxId, codeId } = await addMail(db.pool, { kind: 'verify_email', userId: 'auth0|1', urlTemplate });
    await deliver(outboxId);
    const code = secrets.code(codeId, 0);
    assert.deepEqual(urlsIn((await smtp.mails[0]?.parsed())?.text ?? '').map(String), [
      `https://app.example/v?userId=auth0%7C1&code=${code}&org=org-1`,
    ]);
  });

  it('retries with growing pauses while the server is unavailable, and then gives up', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const importId = await addImport(db.pool, 1);
    const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId });
    smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 100 });
    const dueIn: number[] = [];
    for (let attempt = 0; attempt < RETRY_DELAYS_MS.length; attempt++) {
      assert.equal(await deliver(outboxId, attempt), 'retry');
      const row = await outboxRow(db.pool, outboxId);
      assert.deepEqual([row.state, row.attempts], ['pending', attempt + 1]);
      assert.match(row.last_error ?? '', /451 later/);
      dueIn.push(Math.round(row.due_in));
    }
    assert.deepEqual(dueIn, [5, 30, 120, 600, 1800, 7200, 21600]);
    assert.deepEqual(await importCounts(importId), { mails_sent: 0, mails_failed: 0 });
    assert.equal(await deliver(outboxId, RETRY_DELAYS_MS.length), 'failed');
    assert.equal((await outboxRow(db.pool, outboxId)).state, 'failed');
    assert.deepEqual(await importCounts(importId), { mails_sent: 0, mails_failed: 1 });
  });

  it('gives up if the code would expire before the next attempt', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const { outboxId } = await addMail(db.pool, { kind: 'reset_password', userId: 'u1', codeTtlMs: 3_600_000 });
    // The next attempt would be in six hours.
    await db.pool.query('update mail_outbox set attempts = 6 where id = $1', [outboxId]);
    smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 1 });
    assert.equal(await deliver(outboxId, 6), 'failed');
    assert.match((await outboxRow(db.pool, outboxId)).last_error ?? '', /451 later/);
  });

  it('delivers on a later attempt', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    smtp.refuse({ after: 'RCPT TO', code: 450, times: 1 });
    assert.equal(await deliver(outboxId), 'retry');
    assert.equal(await deliver(outboxId, 0), 'gone', 'the attempt has already settled');
    assert.equal(await deliver(outboxId, 1), 'sent');
    assert.deepEqual(
      { ...(await outboxRow(db.pool, outboxId)), due_in: 0 },
      {
        state: 'sent',
        attempts: 2,
        last_error: null,
        due_in: 0,
      },
    );
  });

  it('gives up at once when the server permanently refuses the recipient or the message', async () => {
    await addPerson(db.pool, { id: 'u1' });
    for (const stage of ['RCPT TO', 'DATA'] as const) {
      const { outboxId, codeId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
      smtp.refuse({ after: stage, code: 550, text: `no ${secrets.code(codeId, 0)} here`, times: 1 });
      assert.equal(await deliver(outboxId), 'failed');
      const row = await outboxRow(db.pool, outboxId);
      assert.match(row.last_error ?? '', /550 no … here/, 'the code is not stored');
    }
  });

  it('retries when the server refuses us and not the mail, or is unreachable', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    smtp.refuse({ after: 'MAIL FROM', code: 550, times: 1 });
    assert.equal(await deliver(outboxId), 'retry');
    const nobody = await startSmtp();
    await nobody.stop();
    const away = openSmtp(nobody.url);
    assert.equal(await deliverMail({ ...deps(), transport: away }, { id: outboxId, attempt: 1 }), 'retry');
    away.close();
  });

  it('sends the same bytes again after a crash between the send and its record', async () => {
    await addPerson(db.pool, { id: 'u1', displayName: 'Žofie' });
    const importId = await addImport(db.pool, 1);
    const { outboxId } = await addMail(db.pool, { kind: 'initialise', userId: 'u1', importId });
    const crash = { settle: () => Promise.reject(new Error('crashed')) };
    await assert.rejects(deliver(outboxId, 0, { settler: crash }), /crashed/);
    assert.equal((await outboxRow(db.pool, outboxId)).state, 'pending');
    assert.equal(await deliver(outboxId), 'sent');
    assert.equal(smtp.mails.length, 2);
    assert.deepEqual(smtp.mails[1]?.raw, smtp.mails[0]?.raw);
    assert.deepEqual(await importCounts(importId), { mails_sent: 1, mails_failed: 0 });
  });

  describe('by a process that froze', () => {
    /** It froze before this many of its first checks. */
    const freezing = (times: number) => ({ since: () => times-- > 0 });

    it('does not send a mail that another process has sent or claimed meanwhile', async () => {
      await addPerson(db.pool, { id: 'u1' });
      const settled = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
      const claimed = await addMail(db.pool, { kind: 'reset_password', userId: 'u1' });
      for (const [{ outboxId }, meanwhile] of [
        [settled, () => deliver(settled.outboxId)],
        [claimed, () => db.pool.query(`update mail_outbox set next_attempt_at = now() + interval '61 seconds'`)],
      ] as const) {
        const before = smtp.mails.length;
        let isFirst = true;
        const since = () => isFirst;
        // It freezes when the connection is free, before it asks whether the mail may go out.
        const frozen: Transport = {
          ...transport,
          send: (mail, mayBegin) =>
            transport.send(mail, async () => {
              await meanwhile();
              const may = mayBegin?.();
              isFirst = false;
              return (await may) ?? true;
            }),
        };
        assert.equal(await deliver(outboxId, 0, { transport: frozen, doubts: openDoubts({ since }) }), 'gone');
        assert.equal(smtp.mails.length, outboxId === settled.outboxId ? before + 1 : before);
      }
    });

    it('claims it again and sends it if nobody else has, also after a freeze during the check', async () => {
      await addPerson(db.pool, { id: 'u1' });
      const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
      const claims: number[] = [];
      const watched: Transport = {
        ...transport,
        async send(mail, mayBegin) {
          const result = await transport.send(mail, mayBegin);
          claims.push((await outboxRow(db.pool, outboxId)).due_in);
          return result;
        },
      };
      assert.equal(await deliver(outboxId, 0, { transport: watched, doubts: openDoubts(freezing(2)) }), 'sent');
      assert.ok((claims[0] as number) > 50, 'the mail is claimed for a minute');
      assert.equal(smtp.mails.length, 1);
    });
  });

  describe('of a job that the queue handed out twice, as its store had lost that it was taken', () => {
    /** Both runs start before either sends. */
    async function sendTwice(change: (doubts: MailDoubts) => void) {
      await addPerson(db.pool, { id: 'u1' });
      const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
      const [claimed] = await claimDue(db.pool, 1, { handOverMs: 60_000 });
      const pointer = claimed?.pointer as MailPointer;
      assert.equal(pointer.id, outboxId);
      const both = Promise.withResolvers<void>();
      let begun = 0;
      const together: Transport = {
        ...transport,
        async send(mail, mayBegin) {
          if (++begun === 2) both.resolve();
          await both.promise;
          return transport.send(mail, mayBegin);
        },
      };
      const run = (known: MailDoubts) => deliverMail({ ...deps(), transport: together, doubts: known }, pointer);
      const [first, second] = [openDoubts({ since: () => false }), openDoubts({ since: () => false })];
      const running = run(first);
      for (const one of [first, second]) change(one);
      return (await Promise.all([running, run(second)])).sort();
    }

    it('happens once', async () => {
      assert.deepEqual(await sendTwice((doubts) => doubts.storeFailed()), ['gone', 'sent']);
      assert.equal(smtp.mails.length, 1);
    });

    it('would happen twice without a doubt', async () => {
      assert.deepEqual(await sendTwice(() => {}), ['sent', 'sent']);
    });

    it('happens once when the second run loads the mail after the first has claimed it again', async () => {
      await addPerson(db.pool, { id: 'u1' });
      await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
      const [claimed] = await claimDue(db.pool, 1, { handOverMs: 60_000 });
      const pointer = claimed?.pointer as MailPointer;
      const inDoubt = openDoubts({ since: () => false });
      inDoubt.storeFailed();
      const held: Transport = {
        ...transport,
        send: (mail, mayBegin) =>
          transport.send(mail, async () => {
            const may = (await mayBegin?.()) ?? true;
            assert.equal(await deliverMail({ ...deps(), doubts: inDoubt }, pointer), 'gone');
            return may;
          }),
      };
      assert.equal(await deliverMail({ ...deps(), transport: held, doubts: inDoubt }, pointer), 'sent');
      assert.equal(smtp.mails.length, 1);
    });
  });

  it('counts each mail once, however many deliveries of it run in parallel', async () => {
    const importId = await addImport(db.pool, 20);
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      await addPerson(db.pool, { id: `u${i}` });
      ids.push((await addMail(db.pool, { kind: 'verify_email', userId: `u${i}`, importId })).outboxId);
    }
    const [one, other] = [settler(), settler()];
    await Promise.all(ids.flatMap((id) => [deliver(id, 0, { settler: one }), deliver(id, 0, { settler: other })]));
    assert.deepEqual(await importCounts(importId), { mails_sent: 20, mails_failed: 0 });
  });

  it('does not let a failure overwrite a success of the same mail', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const importId = await addImport(db.pool, 1);
    const { outboxId: id } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1', importId });
    const outcome = { id, attempt: 0, importId, error: null, delayMs: 0 };
    await settleMails(db.pool, [{ ...outcome, state: 'sent' }]);
    await settleMails(db.pool, [{ ...outcome, state: 'failed', error: 'late' }]);
    assert.equal((await outboxRow(db.pool, id)).state, 'sent');
    assert.deepEqual(await importCounts(importId), { mails_sent: 1, mails_failed: 0 });
  });

  it('sends nothing to a user who was deleted since', async () => {
    await addPerson(db.pool, { id: 'u1' });
    const { outboxId } = await addMail(db.pool, { kind: 'verify_email', userId: 'u1' });
    await db.pool.query('delete from users');
    assert.equal(await deliver(outboxId), 'gone');
    assert.equal(smtp.mails.length, 0);
  });
});

describe('the batch committer', () => {
  const outcome = { id: '1', attempt: 0, importId: null, state: 'sent' as const, error: null, delayMs: 0 };

  it('settles outcomes that arrive together in one commit', async () => {
    const groups: number[] = [];
    const settler = openBatchCommitter(async (group) => void groups.push(group.length));
    await Promise.all([1, 2, 3].map((id) => settler.settle({ ...outcome, id: `${id}` })));
    assert.deepEqual(groups, [3]);
  });

  it('retries a refused commit, and throws when it is refused permanently', async () => {
    let refusals = 2;
    const write = async () => {
      if (refusals-- > 0) throw new Error('deadlock');
    };
    const settler = openBatchCommitter(write, { retryDelaysMs: [0, 0] });
    await settler.settle(outcome);
    refusals = 3;
    await assert.rejects(settler.settle(outcome), /deadlock/);
    await settler.settle(outcome);
  });
});
