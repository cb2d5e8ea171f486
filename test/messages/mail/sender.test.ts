/** Who sends the mails, and whether the domain of the sender has an SPF record, as a DNS server answers it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openSender } from '../../../src/messages/mail/sender.ts';
import { type DnsServer, startDns } from '../../support/dns.ts';

const SPF = 'v=spf1 include:mail.example -all';
/** The texts of each domain; undefined: the server does not answer. */
const RECORDS: Record<string, string[] | undefined> = {
  'with.example': ['another record', SPF],
  'other.example': ['v=spf10', 'google-site-verification=1'],
  'empty.example': [],
  'silent.example': undefined,
};

let dns: DnsServer;
before(async () => {
  dns = await startDns(RECORDS);
});
after(() => dns.stop());

const SMTP_URL = 'smtp://127.0.0.1:25';
const senderAt = (domain: string) => openSender({ MAIL_FROM: `Acme <no-reply@${domain}>`, SMTP_URL }, [dns.address]);

test('a domain has an SPF record, has none, or does not exist', async () => {
  for (const [domain, spf] of [
    ['with.example', 'FOUND'],
    ['other.example', 'NONE'],
    ['empty.example', 'NONE'],
    ['unknown.example', 'NONE'],
  ]) {
    const from = `Acme <no-reply@${domain}>`;
    assert.deepEqual(await senderAt(String(domain))(), { from, domain, server: 'SMTP', spf }, domain);
  }
});

test('what DNS does not answer in time is unknown, not missing', async () => {
  assert.equal((await senderAt('silent.example')()).spf, 'UNKNOWN');
});

test('DNS is asked once for all who ask, and not at all without a mail server', async () => {
  dns.asked.length = 0;
  const sender = senderAt('with.example');
  await Promise.all([sender(), sender()]);
  await sender();
  assert.deepEqual(dns.asked, ['with.example', 'mail.example']);
  const alone = openSender({ MAIL_FROM: 'no-reply@with.example', SMTP_URL: undefined });
  assert.deepEqual(await alone(), { from: 'no-reply@with.example', domain: 'with.example', server: 'MAILBOX' });
  assert.equal(dns.asked.length, 2);
});
