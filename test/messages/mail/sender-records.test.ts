/** SPF, DKIM and DMARC of the sender's domain as a DNS server answers them, and what `muster doctor` makes of them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkSender } from '../../../src/contract/sender-findings.ts';
import { readSenderRecords } from '../../../src/messages/mail/sender-records.ts';
import { mailFacts, senderFacts } from '../../../src/operate/diagnostics.ts';
import { type DnsServer, startDns } from '../../support/dns.ts';
import { startSmtp } from '../../support/smtp.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

const KEY = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
const chain = Object.fromEntries(
  Array.from({ length: 12 }, (_, n) => [`n${n}.long.example`, [`v=spf1 include:n${n + 1}.long.example -all`]]),
);

const RECORDS: Record<string, string[] | undefined> = {
  'good.example': ['other', 'v=spf1 mx a:mail.good.example/28 include:spf.mail.example ip4:192.0.2.1 -all'],
  'spf.mail.example': ['v=spf1 include:a.mail.example ~all'],
  'a.mail.example': ['v=spf1 ip4:192.0.2.2 ip6:2001:db8::/32 -all'],
  's1._domainkey.good.example': [KEY],
  'old._domainkey.good.example': ['v=DKIM1; p='],
  'two._domainkey.good.example': [KEY, KEY],
  '_dmarc.good.example': ['v=DMARC1; p=reject; sp=quarantine; rua=mailto:dmarc@good.example'],
  'none.example': ['v=spf10'],
  'two.example': ['v=spf1 -all', 'v=spf1 mx -all'],
  '_dmarc.two.example': ['v=DMARC1; p=none', 'v=DMARC1; p=none'],
  'long.example': ['v=spf1 include:n0.long.example -all'],
  ...chain,
  'ten.example': [`v=spf1 ${Array.from({ length: 10 }, (_, n) => `a:h${n}.ten.example`).join(' ')} -all`],
  'loop.example': ['v=spf1 include:loop.example -all'],
  'broken.example': ['v=spf1 include:gone.example -all'],
  '_dmarc.broken.example': ['v=DMARC1; p=maybe'],
  'open.example': ['v=spf1 +all'],
  'moved.example': ['v=spf1 redirect=good.example'],
  'macro.example': ['v=spf1 exists:%{i}.spf.example include:%{d}.x.example -all'],
  'silent.example': undefined,
  's1._domainkey.silent.example': undefined,
  '_dmarc.silent.example': undefined,
};

let dns: DnsServer;
before(async () => {
  dns = await startDns(RECORDS);
});
after(() => dns.stop());

const read = (domain: string, selector?: string) => readSenderRecords({ domain, selector, servers: [dns.address] });
const findings = async (domain: string, selector?: string) =>
  checkSender(await read(domain, selector)).map(({ name, state, message, advice = '' }) => ({
    name,
    state,
    text: `${message}\n${advice}`,
  }));

test('a domain whose records are right has three findings that say so', async () => {
  const { spf, dkim, dmarc } = await read('good.example', 's1');
  assert.deepEqual([spf.state, spf.lookups], ['FOUND', 4]);
  assert.deepEqual(dkim, { state: 'FOUND', name: 's1._domainkey.good.example' });
  assert.deepEqual(dmarc, { state: 'FOUND', name: '_dmarc.good.example', policy: 'reject' });
  const all = await findings('good.example', 's1');
  assert.deepEqual(
    all.map(({ name, state }) => `${name} ${state}`),
    ['spf ok', 'dkim ok', 'dmarc ok'],
  );
});

test('what is missing is named, with what to put where', async () => {
  const [spf, dkim, dmarc] = await findings('none.example', 's9');
  assert.match(
    spf?.text ?? '',
    /none\.example has no SPF record[\s\S]*TXT record to none\.example: "v=spf1 include:NAME -all"/,
  );
  assert.match(dkim?.text ?? '', /s9\._domainkey\.none\.example has no key[\s\S]*MAIL_DKIM_SELECTOR/);
  assert.match(dmarc?.text ?? '', /TXT record to _dmarc\.none\.example: "v=DMARC1; p=none;/);
  const [, unknown] = await findings('none.example');
  assert.deepEqual(unknown?.state, 'skipped');
  assert.match(unknown?.text ?? '', /set MAIL_DKIM_SELECTOR/);
});

test('SPF: one record, at most ten lookups with those of includes, and no include without a record', async () => {
  const stateOf = async (domain: string) => {
    const { spf } = await read(domain);
    return `${spf.state} ${spf.lookups ?? ''} ${spf.include ?? ''}`.trim();
  };
  assert.equal(await stateOf('two.example'), 'SEVERAL');
  assert.equal(await stateOf('ten.example'), 'FOUND 10');
  assert.equal(await stateOf('long.example'), 'TOO_MANY_LOOKUPS 11');
  assert.equal(await stateOf('loop.example'), 'TOO_MANY_LOOKUPS 11');
  assert.equal(await stateOf('broken.example'), 'BROKEN_INCLUDE 1 gone.example');
  assert.equal(await stateOf('open.example'), 'ALLOWS_ALL 0');
  assert.equal(await stateOf('moved.example'), 'FOUND 5');
  assert.equal(await stateOf('macro.example'), 'FOUND 2');
  for (const domain of ['two.example', 'long.example', 'broken.example']) {
    assert.equal((await findings(domain))[0]?.state, 'problem', domain);
  }
});

test('DKIM: a key that is revoked, and several keys', async () => {
  assert.equal((await read('good.example', 'old')).dkim.state, 'REVOKED');
  assert.equal((await read('good.example', 'two')).dkim.state, 'SEVERAL');
});

test('DMARC: of a subdomain, the record of the organizational domain counts, with its policy for subdomains', async () => {
  assert.deepEqual((await read('mail.a.good.example')).dmarc, {
    state: 'FOUND',
    name: '_dmarc.good.example',
    policy: 'quarantine',
  });
  assert.equal((await read('two.example')).dmarc.state, 'SEVERAL');
  assert.equal((await read('broken.example')).dmarc.state, 'INVALID');
  // `co.uk` is a public suffix: nobody's organizational domain.
  assert.equal((await read('mail.acme.co.uk')).dmarc.name, '_dmarc.acme.co.uk');
});

test('what DNS does not answer is unknown, never missing', async () => {
  const { spf, dkim, dmarc } = await read('silent.example', 's1');
  assert.deepEqual([spf.state, dkim.state, dmarc.state], ['UNKNOWN', 'UNKNOWN', 'UNKNOWN']);
  for (const { state } of await findings('silent.example', 's1')) assert.equal(state, 'skipped');
});

test('the diagnostics of a service have them, where there is a mail server and a domain', async () => {
  const [db, smtp] = await Promise.all([testDatabase({ name: 'sender-records' }), startSmtp()]);
  try {
    const config = { SMTP_URL: smtp.url, MAIL_FROM: 'Acme <no-reply@good.example>', MAIL_DKIM_SELECTOR: 's1' };
    const { sender } = await mailFacts(db.pool, config, [dns.address]);
    assert.deepEqual(
      [sender?.domain, sender?.spf.state, sender?.dkim.state, sender?.dmarc.state],
      ['good.example', 'FOUND', 'FOUND', 'FOUND'],
    );
  } finally {
    await Promise.all([db.drop(), smtp.stop()]);
  }
  const none = { MAIL_DKIM_SELECTOR: undefined };
  assert.equal(await senderFacts({ ...none, SMTP_URL: undefined, MAIL_FROM: 'a@good.example' }), undefined);
  assert.equal(
    await senderFacts({ ...none, SMTP_URL: 'smtp://x', MAIL_FROM: 'Muster <no-reply@localhost>' }),
    undefined,
  );
});
