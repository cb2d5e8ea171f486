import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Logger } from 'pino';
import type { PreviewKind } from '../../../src/contract/link-templates.ts';
import { limitsOf, usageOf } from '../../../src/directory/organization-limits.ts';
import { RETRY_DELAYS_MS } from '../../../src/messages/mail/deliver.ts';
import type { ComposedMail } from '../../../src/messages/mail/message.ts';
import { enqueueNotice, enqueueSample, HOLD_MS, sendFarewell } from '../../../src/messages/mail/outbox.ts';
import { openSmtp } from '../../../src/messages/mail/smtp.ts';
import { startSmtp, urlsIn } from '../../support/smtp.ts';
import { secrets, services, useDeliveries } from './deliveries.ts';
import { addImport, addMail, addPerson, importCounts, outboxRow } from './rows.ts';

describe('delivery over SMTP', () => {
  const at = useDeliveries('delivery');

  it('sends each kind of mail, with the right link and nothing else to click', async () => {
    await addPerson(at.db.pool, { id: 'auth0|1', email: 'žofie@example.com', displayName: 'Žofie' });
    for (const [kind, path] of [
      ['verify_email', '/ui/verify'],
      ['initialise', '/ui/init'],
      ['reset_password', '/ui/reset'],
    ] as const) {
      const { outboxId, codeId } = await addMail(at.db.pool, { kind, userId: 'auth0|1' });
      assert.equal(await at.deliver(outboxId), 'sent');
      const mail = at.smtp.mails.at(-1);
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
      assert.equal((await outboxRow(at.db.pool, outboxId)).state, 'sent');
    }
  });

  it("is in the user's language, which every part of the mail names, and in English where there is no catalogue", async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const told: unknown[] = [];
    for (const language of ['de-AT', 'xx', null]) {
      await at.db.pool.query('update users set preferred_language = $1', [language]);
      const { outboxId } = await addMail(at.db.pool, { kind: 'reset_password', userId: 'u1' });
      assert.equal(await at.deliver(outboxId), 'sent');
      const parsed = await at.smtp.mails.at(-1)?.parsed();
      const header = parsed?.headers.find(({ key }) => key === 'content-language')?.value;
      told.push([
        parsed?.subject?.split(': ')[1],
        header,
        /<html lang="(\w+)" dir="ltr">/.exec(parsed?.html ?? '')?.[1],
      ]);
    }
    const english = ['Reset your password', 'en', 'en'];
    assert.deepEqual(told, [['Setzen Sie Ihr Passwort zurück', 'de', 'de'], english, english]);
  });

  it('sends a sample to the verified address of the user alone, in its language and of its organization', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    await at.db.pool.query(`update users set email_verified = true, preferred_language = 'de', last_login_at = now()`);
    await at.db.pool.query(
      `insert into organizations (id, name, primary_domain, sequence) values ('o2', 'Other', 'o.local', 2)`,
    );
    const send = async (kind: PreviewKind, language: string) => {
      await enqueueSample(at.db.pool, { kind, userId: 'u1', orgId: 'o2', language });
      const { rows } = await at.db.pool.query('select max(id) as id from mail_outbox');
      return { delivery: await at.deliver(rows[0].id), mail: at.smtp.mails.at(-1) };
    };
    const { delivery, mail } = await send('how_to_sign_in', 'en');
    assert.deepEqual(
      [delivery, mail?.to, (await mail?.parsed())?.subject],
      ['sent', ['ann@example.com'], 'Other: How to sign in'],
    );
    const own = await send('sign_in', '');
    const parsed = await own.mail?.parsed();
    assert.equal(parsed?.subject, 'Other: Ihr Code für die Anmeldung');
    assert.match(parsed?.text ?? '', /\n12345678\n/);
    const sent = at.smtp.mails.length;
    const { id } = (
      await at.db.pool.query(
        `insert into mail_outbox (kind, user_id, org_id, sample) values ('initialise', 'u1', 'o2', 'de') returning id`,
      )
    ).rows[0];
    await at.db.pool.query('update users set email_verified = false');
    assert.equal(await at.deliver(id), 'gone');
    assert.equal(at.smtp.mails.length, sent);
    assert.equal(
      await enqueueSample(at.db.pool, { kind: 'initialise', userId: 'u1', orgId: 'o2', language: 'de' }),
      undefined,
    );
    await at.db.pool.query(`delete from organizations where id = 'o2'`);
  });

  it("holds the user's display name only if it goes to their verified address", async () => {
    const displayName = 'You won, call 555-0100';
    await addPerson(at.db.pool, { id: 'u1', displayName });
    const names = async (mail: { address?: string }) => {
      const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1', ...mail });
      await at.deliver(outboxId);
      const parsed = await at.smtp.mails.at(-1)?.parsed();
      return [parsed?.to, parsed?.text, parsed?.html].some((part) => JSON.stringify(part).includes('555-0100'));
    };
    assert.equal(await names({}), false, 'not verified');
    await at.db.pool.query('update users set email_verified = true');
    assert.equal(await names({ address: 'victim@example.com' }), false, 'a new address');
    assert.deepEqual(at.smtp.mails.at(-1)?.to, ['victim@example.com']);
    assert.equal(await names({}), true);
  });

  it('puts the mails of an import in one line, and what people wait for in that of their organization', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const importId = await addImport(at.db.pool, 1);
    const lines: (string | undefined)[] = [];
    const transport = {
      ...at.transport,
      send: async ({ line }: ComposedMail) => {
        lines.push(line);
        return { sent: true } as const;
      },
    };
    for (const mail of [{ importId }, {}]) {
      const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1', ...mail });
      assert.equal(await at.deliver(outboxId, 0, { transport }), 'sent');
    }
    assert.deepEqual(lines, [`import ${importId}`, 'organization org-1']);
  });

  it('holds what goes beyond the mails of an organization in a day until the next one', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    await at.db.pool.query(`insert into org_limits select id, 'mailsPerDay', 2 from organizations`);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) ids.push((await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' })).outboxId);
    const results: string[] = [];
    for (const id of ids) results.push(await at.deliver(id));
    assert.deepEqual(results, ['sent', 'sent', 'held', 'held']);
    const orgId = (await at.db.pool.query('select id from organizations')).rows[0].id;
    const usage = async () => (await usageOf(at.db.pool, orgId, await limitsOf(at.db.pool, orgId))).mailsPerDay;
    assert.equal(await usage(), 2, 'what is held is not counted');
    await at.db.pool.query('update org_limits set most = 3');
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
    assert.deepEqual([await at.deliver(outboxId), await usage()], ['sent', 3]);
    const { rows } = await at.db.pool.query<{ n: number; until: Date }>(
      `select count(*)::int as n, min(next_attempt_at) as until from mail_outbox where state = 'pending'`,
    );
    assert.equal(rows[0]?.n, 2);
    const midnight = Math.round(Number(rows[0]?.until) / 60_000) % (24 * 60);
    assert.equal(midnight, 0, 'at the end of the day, within the time of the statement');
    await at.db.pool.query('delete from org_limits');
    assert.equal(await usage(), undefined, 'without a limit nothing is counted');
    await at.db.pool.query(`update mail_outbox set next_attempt_at = now() where state = 'pending'`);
    for (const id of ids.slice(2)) assert.equal(await at.deliver(id), 'sent');
  });

  it('holds the mails of an organization that is not active, and the clock of their codes', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const { outboxId, codeId } = await addMail(at.db.pool, { kind: 'initialise', userId: 'u1' });
    const validMs = async () => {
      const text = 'select extract(epoch from expires_at - now())::float8 * 1000 as ms from codes where id = $1';
      return (await at.db.pool.query<{ ms: number }>(text, [codeId])).rows[0]?.ms ?? 0;
    };
    const atFirst = await validMs();
    const set = (column: string, value: string) => at.db.pool.query(`update organizations set ${column} = ${value}`);
    for (const column of ['inactive_since', 'removed_at']) {
      await set(column, 'now()');
      assert.equal(await at.deliver(outboxId), 'held');
      await set(column, 'null');
    }
    const text = "select state, attempts, next_attempt_at > now() + $1 * interval '1 ms' as waits from mail_outbox";
    const { rows } = await at.db.pool.query(text, [HOLD_MS / 2]);
    assert.deepEqual(rows, [{ state: 'pending', attempts: 0, waits: true }]);
    assert.ok((await validMs()) > atFirst + HOLD_MS);
    assert.equal(at.smtp.mails.length, 0);
    assert.equal(await at.deliver(outboxId), 'sent');
  });

  it('tells somebody who has deleted their account, and forgets the address', async () => {
    const { rows: orgs } = await at.db.pool.query<{ id: string }>('select id from organizations');
    const orgId = orgs[0]?.id as string;
    const farewell = async () => {
      await sendFarewell(at.db.pool, { orgId, email: 'ann@example.com' });
      const { rows } = await at.db.pool.query<{ id: string }>('select id from mail_outbox order by id desc limit 1');
      return rows[0]?.id as string;
    };
    const outboxId = await farewell();
    assert.equal(await at.deliver(outboxId), 'sent');
    const mail = at.smtp.mails.at(-1);
    assert.deepEqual(mail?.to, ['ann@example.com']);
    assert.match((await mail?.parsed())?.text ?? '', /Your account at Příliš & Co was deleted/);
    const { rows } = await at.db.pool.query('select state, address from mail_outbox');
    assert.deepEqual(rows, [{ state: 'sent', address: null }]);
    const later = await farewell();
    await at.db.pool.query('update organizations set removed_at = now()');
    assert.equal(await at.deliver(later), 'gone');
    await at.db.pool.query('update organizations set removed_at = null');
    await at.db.pool.query('delete from mail_outbox');
    assert.equal((await at.db.pool.query('select from mail_outbox where id = $1', [later])).rowCount, 0);
  });

  it('tells the old address of a change, without a link and without any words of the user', async () => {
    await addPerson(at.db.pool, { id: 'u1', displayName: 'Thief', userName: 'thief', email: 'new@example.com' });
    await enqueueNotice(at.db.pool, { kind: 'email_changed', userId: 'u1', address: 'old@example.com' });
    const { rows } = await at.db.pool.query<{ id: string }>('select id from mail_outbox');
    at.smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 1 });
    assert.equal(await at.deliver(rows[0]?.id ?? ''), 'retry');
    assert.equal(await at.deliver(rows[0]?.id ?? '', 1), 'sent');
    const parsed = await at.smtp.mails[0]?.parsed();
    assert.deepEqual(at.smtp.mails[0]?.to, ['old@example.com']);
    assert.equal(parsed?.subject, 'Příliš & Co: Your email address is being changed');
    assert.deepEqual(urlsIn(parsed?.text ?? ''), []);
    assert.doesNotMatch(parsed?.html ?? '', /href|thief/i);
    assert.match(parsed?.text ?? '', /replace this email address/);
  });

  it("follows the caller's URL template", async () => {
    await addPerson(at.db.pool, { id: 'auth0|1' });
    const urlTemplate = 'https://app.example/v?userId={{.UserID}}&code={{.Code}}&org={{.OrgID}}';
    const { outboxId, codeId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'auth0|1', urlTemplate });
    await at.deliver(outboxId);
    const code = secrets.code(codeId, 0);
    assert.deepEqual(urlsIn((await at.smtp.mails[0]?.parsed())?.text ?? '').map(String), [
      `https://app.example/v?userId=auth0%7C1&code=${code}&org=org-1`,
    ]);
  });

  it('retries with growing pauses while the server is unavailable, and then gives up', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const importId = await addImport(at.db.pool, 1);
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1', importId });
    at.smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 100 });
    assert.deepEqual(
      RETRY_DELAYS_MS,
      [5, 30, 120, 600, 1800, 7200, 21600].map((seconds) => seconds * 1000),
    );
    for (const [attempt, delayMs] of RETRY_DELAYS_MS.entries()) {
      assert.equal(await at.deliver(outboxId, attempt), 'retry');
      const row = await outboxRow(at.db.pool, outboxId);
      assert.deepEqual([row.state, row.attempts], ['pending', attempt + 1]);
      assert.match(row.last_error ?? '', /451 later/);
      const elapsed = delayMs / 1000 - row.due_in;
      assert.ok(elapsed >= 0 && elapsed < 4, `due in ${row.due_in} s instead of ${delayMs} ms`);
    }
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 0, mails_failed: 0 });
    assert.equal(await at.deliver(outboxId, RETRY_DELAYS_MS.length), 'failed');
    assert.equal((await outboxRow(at.db.pool, outboxId)).state, 'failed');
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 0, mails_failed: 1 });
  });

  it('keeps and reports a mail that cannot be composed, and sends it once it can be', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const importId = await addImport(at.db.pool, 1);
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1', importId });
    const lines: unknown[] = [];
    const logger = { error: (...line: unknown[]) => lines.push(line), warn() {} } as unknown as Logger;
    const broken = { logger, config: { ...services.config, MAIL_FROM: '' } };
    const last = RETRY_DELAYS_MS.length;
    for (let attempt = 0; attempt <= last; attempt++) {
      assert.equal(await at.deliver(outboxId, attempt, broken), 'retry');
      assert.equal(lines.length, attempt + 1);
    }
    assert.match(JSON.stringify(lines[0]), /mail cannot be composed/);
    const row = await outboxRow(at.db.pool, outboxId);
    assert.equal(row.state, 'pending');
    assert.match(row.last_error ?? '', /^cannot be composed: /);
    assert.deepEqual(await importCounts(at.db.pool, importId), { mails_sent: 0, mails_failed: 0 });
    assert.equal(await at.deliver(outboxId, last + 1), 'sent');
  });

  it('gives up if the code would expire before the next attempt', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const { outboxId } = await addMail(at.db.pool, { kind: 'reset_password', userId: 'u1', codeTtlMs: 3_600_000 });
    // The next attempt would be in six hours.
    await at.db.pool.query('update mail_outbox set attempts = 6 where id = $1', [outboxId]);
    at.smtp.refuse({ after: 'DATA', code: 451, text: 'later', times: 1 });
    assert.equal(await at.deliver(outboxId, 6), 'failed');
    assert.match((await outboxRow(at.db.pool, outboxId)).last_error ?? '', /451 later/);
  });

  it('delivers on a later attempt', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
    at.smtp.refuse({ after: 'RCPT TO', code: 450, times: 1 });
    assert.equal(await at.deliver(outboxId), 'retry');
    assert.equal(await at.deliver(outboxId, 0), 'gone', 'the attempt has already settled');
    assert.equal(await at.deliver(outboxId, 1), 'sent');
    assert.deepEqual(
      { ...(await outboxRow(at.db.pool, outboxId)), due_in: 0 },
      {
        state: 'sent',
        attempts: 2,
        last_error: null,
        due_in: 0,
      },
    );
  });

  it('gives up at once when the server permanently refuses the recipient or the message', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    for (const stage of ['RCPT TO', 'DATA'] as const) {
      const { outboxId, codeId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
      at.smtp.refuse({ after: stage, code: 550, text: `no ${secrets.code(codeId, 0)} here`, times: 1 });
      assert.equal(await at.deliver(outboxId), 'failed');
      const row = await outboxRow(at.db.pool, outboxId);
      assert.match(row.last_error ?? '', /550 no … here/, 'the code is not stored');
    }
  });

  it('retries when the server refuses us and not the mail, or is unreachable', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
    at.smtp.refuse({ after: 'MAIL FROM', code: 550, times: 1 });
    assert.equal(await at.deliver(outboxId), 'retry');
    const nobody = await startSmtp();
    await nobody.stop();
    const away = openSmtp(nobody.url);
    assert.equal(await at.deliver(outboxId, 1, { transport: away }), 'retry');
    away.close();
  });

  it('sends nothing to a user who was deleted since', async () => {
    await addPerson(at.db.pool, { id: 'u1' });
    const { outboxId } = await addMail(at.db.pool, { kind: 'verify_email', userId: 'u1' });
    await at.db.pool.query('delete from users');
    assert.equal(await at.deliver(outboxId), 'gone');
    assert.equal(at.smtp.mails.length, 0);
  });
});

describe('mails with a branding', () => {
  const at = useDeliveries('branding');
  const LOGO = 'a'.repeat(64);

  /** @param orgId null: the instance */
  const brand = (orgId: string | null, settings: object, logo = false) =>
    at.db.pool.query(
      `insert into branding (org_id, settings, logo, logo_type, logo_hash, logo_width, logo_height, sequence)
       values ($1, $2, $3, $4, $5, 480, 96, 1)
       on conflict (org_id) do update set settings = excluded.settings, logo = excluded.logo,
         logo_type = excluded.logo_type, logo_hash = excluded.logo_hash`,
      [orgId, JSON.stringify(settings), ...(logo ? [Buffer.from('x'), 'image/png', LOGO] : [null, null, null])],
    );

  async function sent(kind: 'initialise' | 'verify_email', userId = 'u1') {
    const { outboxId } = await addMail(at.db.pool, { kind, userId });
    assert.equal(await at.deliver(outboxId), 'sent');
    const mail = at.smtp.mails.at(-1);
    assert.ok(mail);
    return { mail, parsed: await mail.parsed() };
  }

  it('have the name, logo, colours, links and sentences of the organization, and of the instance what it lacks', async () => {
    await addPerson(at.db.pool, { id: 'u1', displayName: 'Žofie {orgName} $&' });
    await at.db.pool.query(`update users set email_verified = true`);
    const { rows } = await at.db.pool.query('select id from organizations');
    await brand(null, { primaryColor: '#ffee00', links: { terms: 'https://s.example/terms' }, language: 'de' });
    const texts = { initialise: 'Dear {displayName},\n\n<b>{orgName}</b> has moved. You are {userName}.' };
    const senderName = 'Acme "Team", <evil@example.com>';
    await brand(
      rows[0].id,
      { name: 'Acme', senderName, supportEmail: 'help@acme.example', texts, cornerRadius: 2 },
      true,
    );
    const { mail, parsed } = await sent('initialise');
    assert.equal(mail.from, 'no-reply@id.example.org');
    assert.deepEqual(parsed.from, { name: senderName, address: 'no-reply@id.example.org' });
    assert.match(parsed.html ?? '', /<html lang="de"/);
    const logo = `<img src="https://id.example.org/ui/branding/${LOGO}" alt="Acme" width="240" height="48"`;
    assert.ok(parsed.html?.includes(logo), parsed.html);
    assert.match(
      parsed.html ?? '',
      /<p [^>]*>Dear Žofie \{orgName\} \$&amp;,<\/p>\n<p [^>]*>&lt;b&gt;Příliš &amp; Co&lt;\/b&gt; has moved\. You are u1\.<\/p>/,
    );
    const said = 'Dear Žofie {orgName} $&,\n\n<b>Příliš & Co</b> has moved. You are u1.\n\nBitte legen Sie zum Start';
    assert.equal((parsed.text ?? '').slice(0, said.length), said, 'no second greeting or user name');
    assert.match(parsed.text ?? '', /help@acme\.example[\s\S]*https:\/\/s\.example\/terms/);
    assert.doesNotMatch(parsed.html ?? '', /#ffee00;color:#ffffff|#1f4fd8/);
    const other = await sent('verify_email');
    assert.doesNotMatch(other.parsed.text ?? '', /Dear/);
  });

  it('say no display name to an address that is not verified', async () => {
    await addPerson(at.db.pool, { id: 'u1', displayName: 'Win now' });
    const { rows } = await at.db.pool.query('select id from organizations');
    await brand(rows[0].id, { texts: { initialise: 'We have moved.\n\nDear {displayName}.' } });
    const { parsed } = await sent('initialise');
    assert.match(parsed.text ?? '', /^[^\n]+,\n\nWe have moved\.\n\nDear u1\.\n\n[^\n]+ u1\. /);
    assert.doesNotMatch(`${parsed.html}${parsed.text}`, /Win now/);
  });
});
