/** Who sends the mails, and whether the domain of the sender has an SPF record, as a DNS server answers it. */
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { openSender } from '../../../src/messages/mail/sender.ts';

const SPF = 'v=spf1 include:mail.example -all';
/** The texts of each domain; undefined: the server does not answer. */
const RECORDS: Record<string, string[] | undefined> = {
  'with.example': ['another record', SPF],
  'other.example': ['v=spf10', 'google-site-verification=1'],
  'empty.example': [],
  'silent.example': undefined,
};

let server: Socket;
let asked: string[] = [];
before(async () => {
  server = createSocket('udp4');
  server.on('message', (query, from) => {
    const name = nameIn(query);
    asked.push(name);
    const answer = answerTo(query, name);
    if (answer) server.send(answer, from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

const SMTP_URL = 'smtp://127.0.0.1:25';
const senderAt = (domain: string) =>
  openSender({ MAIL_FROM: `Acme <no-reply@${domain}>`, SMTP_URL }, [`127.0.0.1:${server.address().port}`]);

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
  asked = [];
  const sender = senderAt('with.example');
  await Promise.all([sender(), sender()]);
  await sender();
  assert.deepEqual(asked, ['with.example']);
  const alone = openSender({ MAIL_FROM: 'no-reply@with.example', SMTP_URL: undefined });
  assert.deepEqual(await alone(), { from: 'no-reply@with.example', domain: 'with.example', server: 'MAILBOX' });
  assert.equal(asked.length, 1);
});

/** The name of the question (RFC 1035, section 4.1.2). */
function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at]; at += 1 + (query[at] as number)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] as number)));
  }
  return labels.join('.').toLowerCase();
}

const NO_SUCH_NAME = 3;

function answerTo(query: Buffer, name: string): Buffer | undefined {
  const isKnown = Object.hasOwn(RECORDS, name);
  const texts = RECORDS[name];
  if (isKnown && texts === undefined) return undefined;
  const end = query.indexOf(0, 12) + 5;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 + (isKnown ? 0 : NO_SUCH_NAME), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(texts?.length ?? 0, 6);
  head.writeUInt32BE(0, 8);
  const records = (texts ?? []).map((text) => {
    const fixed = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, text.length + 1, text.length]);
    return Buffer.concat([fixed, Buffer.from(text, 'latin1')]);
  });
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}
