import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Transport } from '../../../src/messages/mail/message.ts';
import { claimDue, type MailPointer } from '../../../src/messages/mail/outbox.ts';
import { recordDeliveries } from '../../../src/messages/mail/relay.ts';
import { type MailRedeliveryRisk, openRedeliveryRisk } from '../../../workers/mailer.ts';
import { useDeliveries } from './deliveries.ts';
import { addImport, addMail, addPerson, importCounts, outboxRow } from './rows.ts';

describe('delivery once', () => {
  const at = useDeliveries('delivery_once');

  it('sends the same bytes again after a crash between the send and its record', async () => {
    await addPerson(at.db.pool, { id: 'u1', displayName: 'Žofie' });
    const importId = await addImport(at.db.pool, 1);
    const { outboxId } = await addMail(at.db.pool, { kind: 'initialise', userId: 'u1', importId });
    const crash = { settle: () => Promise.reject(new Error('crashed')) };
    await assert.rejects(at.deliver(outboxId, 0, { settler: crash }), /crashed/);
    assert.equal((await outboxRow(at.db.pool, outboxId)).state, 'pending');
    assert.equal(await at.deliver(outboxId), 'sent');
    assert.equal(at.smtp.mails.length, 2);
    assert.deepEqual(at.smtp.mails[1]?.raw, at.smtp.mails[0]?.raw);
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 1, mails_failed: 0 });
  });

  describe('by a process that froze', () => {
    /** It froze before this many of its first checks. */
    const freezing = (times: number) => ({ since: () => times-- > 0 });

    it('does not send a mail that another process has sent or claimed meanwhile', async () => {
      await addPerson(at.db.pool, { id: 'u1' });
      const settled = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
      const claimed = await addMail(at.db.pool, { kind: 'reset_password', userId: 'u1' });
      for (const [{ outboxId }, meanwhile] of [
        [settled, () => at.deliver(settled.outboxId)],
        [claimed, () => at.db.pool.query(`update mail_outbox set next_attempt_at = now() + interval '61 seconds'`)],
      ] as const) {
        const before = at.smtp.mails.length;
        let isFirst = true;
        const since = () => isFirst;
        // It freezes when the connection is free, before it asks whether the mail may go out.
        const frozen: Transport = {
          ...at.transport,
          send: (mail, mayBegin) =>
            at.transport.send(mail, async () => {
              await meanwhile();
              const may = mayBegin?.();
              isFirst = false;
              return (await may) ?? true;
            }),
        };
        assert.equal(await at.deliver(outboxId, 0, { transport: frozen, risk: openRedeliveryRisk({ since }) }), 'gone');
        assert.equal(at.smtp.mails.length, outboxId === settled.outboxId ? before + 1 : before);
      }
    });

    it('claims it again and sends it if nobody else has, also after a freeze during the check', async () => {
      await addPerson(at.db.pool, { id: 'u1' });
      const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
      const claims: number[] = [];
      const watched: Transport = {
        ...at.transport,
        async send(mail, mayBegin) {
          const result = await at.transport.send(mail, mayBegin);
          claims.push((await outboxRow(at.db.pool, outboxId)).due_in);
          return result;
        },
      };
      assert.equal(
        await at.deliver(outboxId, 0, { transport: watched, risk: openRedeliveryRisk(freezing(2)) }),
        'sent',
      );
      assert.ok((claims[0] as number) > 50, 'the mail is claimed for a minute');
      assert.equal(at.smtp.mails.length, 1);
    });
  });

  describe('of a job that the queue handed out twice, as its store had lost that it was taken', () => {
    /** Both runs start before either sends. */
    async function sendTwice(change: (risk: MailRedeliveryRisk) => void) {
      await addPerson(at.db.pool, { id: 'u1' });
      const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
      const [claimed] = await claimDue(at.db.pool, 1, { handOverMs: 60_000 });
      const pointer = claimed?.pointer as MailPointer;
      assert.equal(pointer.id, outboxId);
      const both = Promise.withResolvers<void>();
      let begun = 0;
      const together: Transport = {
        ...at.transport,
        async send(mail, mayBegin) {
          if (++begun === 2) both.resolve();
          await both.promise;
          return at.transport.send(mail, mayBegin);
        },
      };
      const run = (known: MailRedeliveryRisk) => at.run(pointer, { transport: together, risk: known });
      const [first, second] = [openRedeliveryRisk({ since: () => false }), openRedeliveryRisk({ since: () => false })];
      const running = run(first);
      for (const one of [first, second]) change(one);
      return (await Promise.all([running, run(second)])).sort();
    }

    it('happens once', async () => {
      assert.deepEqual(await sendTwice((risk) => risk.storeFailed()), ['gone', 'sent']);
      assert.equal(at.smtp.mails.length, 1);
    });

    it('would happen twice without a doubt', async () => {
      assert.deepEqual(await sendTwice(() => {}), ['sent', 'sent']);
    });

    it('happens once when the second run loads the mail after the first has claimed it again', async () => {
      await addPerson(at.db.pool, { id: 'u1' });
      await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
      const [claimed] = await claimDue(at.db.pool, 1, { handOverMs: 60_000 });
      const pointer = claimed?.pointer as MailPointer;
      const inDoubt = openRedeliveryRisk({ since: () => false });
      inDoubt.storeFailed();
      const held: Transport = {
        ...at.transport,
        send: (mail, mayBegin) =>
          at.transport.send(mail, async () => {
            const may = (await mayBegin?.()) ?? true;
            assert.equal(await at.run(pointer, { risk: inDoubt }), 'gone');
            return may;
          }),
      };
      assert.equal(await at.run(pointer, { transport: held, risk: inDoubt }), 'sent');
      assert.equal(at.smtp.mails.length, 1);
    });
  });

  it('counts each mail once, however many deliveries of it run in parallel', async () => {
    const importId = await addImport(at.db.pool, 20);
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      await addPerson(at.db.pool, { id: `u${i}` });
      ids.push((await addMail(at.db.pool, { kind: 'verify_email', userId: `u${i}`, importId })).outboxId);
    }
    const [one, other] = [at.settler(), at.settler()];
    await Promise.all(
      ids.flatMap((id) => [at.deliver(id, 0, { settler: one }), at.deliver(id, 0, { settler: other })]),
    );
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 20, mails_failed: 0 });
  });

  it('does not let a failure overwrite a success of the same mail', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const importId = await addImport(at.db.pool, 1);
    const { outboxId: id } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1', importId });
    const outcome = { id, attempt: 0, importId, error: null, delayMs: 0 };
    await recordDeliveries(at.db.pool, [{ ...outcome, state: 'sent' }]);
    await recordDeliveries(at.db.pool, [{ ...outcome, state: 'failed', error: 'late' }]);
    assert.equal((await outboxRow(at.db.pool, id)).state, 'sent');
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 1, mails_failed: 0 });
  });
});
