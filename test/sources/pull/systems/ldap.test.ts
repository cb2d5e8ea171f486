/** Users from a real OpenLDAP server, by paged searches. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { Attribute, Change, Client } from 'ldapts';
import { recordConverter } from '../../../../src/sources/convert.ts';
import { ldap } from '../../../../src/sources/pull/systems/ldap.ts';
import { ldifRecords } from '../../../../src/sources/read/ldif.ts';
import { ldif } from '../../../../src/sources/systems/ldif.ts';
import { readAll } from '../../../support/pull/read.ts';
import { ROOT_DN, ROOT_PASSWORD, SUFFIX, startSlapd } from '../../../support/pull/servers.ts';
import { requireOrSkip } from '../../../support/runner/programs.ts';
import { startSlapd as startTlsSlapd } from '../../../support/slapd.ts';

const HASH = '{SSHA}RLk8OEh3lsZ2/8cOF5TN0Q3J8MmRMTIz';
const old = (n: number) => `dn: uid=u${n},ou=people,${SUFFIX}
objectClass: inetOrgPerson
uid: u${n}
cn: Ann Ärcher ${n}
sn: Ärcher
mail: u${n}@shop.example
mail: second${n}@shop.example
userPassword: ${HASH}
createTimestamp: 20260101000000Z
modifyTimestamp: 20260101000000Z
`;
const LDIF = [
  `dn: ${SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: shop\no: Shop\n`,
  `dn: ou=people,${SUFFIX}\nobjectClass: organizationalUnit\nou: people\n`,
  ...[1, 2, 3, 4, 5].map(old),
].join('\n');

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test('LDAP', async (t) => {
  if (!requireOrSkip(t, 'slapd')) return;
  const server = await startSlapd(LDIF);
  t.after(server.stop);
  const options = { host: server.url, base: SUFFIX, 'bind-dn': ROOT_DN, 'page-size': '2' };
  const secrets = { password: ROOT_PASSWORD };
  const convert = recordConverter({ source: ldif, orgId: 'shop', options: {} });

  await t.test('all people, with their ids and hashes', async () => {
    const { pages, records } = await readAll(ldap, { options, secrets });
    assert.deepEqual(
      pages.map(({ records }) => records.length),
      [2, 2, 1],
    );
    const [first] = records.map((record) => convert(record).entry);
    assert.match(first?.userId ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(first?.user.userName, 'u1');
    assert.equal(first?.user.profile.lastName, 'Ärcher');
    assert.equal(first?.user.email.email, 'u1@shop.example');
    assert.equal(first?.user.hashedPassword?.value, HASH);
  });

  await t.test('a saved file holds the same entries', async () => {
    const { records } = await readAll(ldap, { options, secrets });
    const text = records.map((record) => `${ldap.asText?.(record)}\n`).join('');
    const read: unknown[] = [];
    for await (const group of ldifRecords(bytesOf(text))) for (const { value } of group) read.push(value);
    assert.deepEqual(read, records);
  });

  await t.test('changes only', async () => {
    const client = new Client({ url: server.url });
    await client.bind(ROOT_DN, ROOT_PASSWORD);
    const modification = new Attribute({ type: 'sn', values: ['Baker'] });
    await client.modify(`uid=u3,ou=people,${SUFFIX}`, new Change({ operation: 'replace', modification }));
    await client.unbind();
    const { records } = await readAll(ldap, { options, secrets, since: '2026-02-01T00:00:00.000Z' });
    assert.deepEqual(
      records.map(({ sn }) => sn),
      [['Baker']],
    );
  });

  await t.test('what is refused, and why', async () => {
    const read = (more: object, given: Record<string, string> = secrets) =>
      readAll(ldap, { options: { ...options, ...more }, secrets: given });
    await assert.rejects(read({}, { password: 'wrong' }), { name: 'PullError', trouble: 'denied' });
    await assert.rejects(read({ 'bind-dn': '' }), /limits the number of entries/);
    await assert.rejects(read({ base: 'dc=nowhere' }), { name: 'PullError', trouble: 'failed' });
    await assert.rejects(read({ host: 'ldap://127.0.0.1:1' }), { name: 'PullError', trouble: 'unreachable' });
    await assert.rejects(read({ host: 'http://127.0.0.1' }), /--host must be ldaps/);
    // Any other name than that of the machine itself: no password before StartTLS, which this server does not have.
    await assert.rejects(read({ host: `ldap://0.0.0.0:${server.port}` }), { name: 'PullError' });
  });
});

test('LDAP over TLS, with a certificate of an own authority', async (t) => {
  if (!requireOrSkip(t, 'slapd')) return;
  const server = await startTlsSlapd([{ uid: 'ann' }, { uid: 'bob' }]);
  const folder = await mkdtemp(join(tmpdir(), 'muster-ldap-'));
  t.after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });
  const file = join(folder, 'ca.pem');
  await writeFile(file, server.caCertificate);
  const options = { host: server.url, base: server.base, 'bind-dn': server.adminDn, 'ca-file': file };
  const read = (more: object) =>
    readAll(ldap, { options: { ...options, ...more }, secrets: { password: server.adminPassword } });
  // The second one speaks plain LDAP until StartTLS; this directory refuses a bind without TLS.
  for (const host of [server.url, server.plainUrl]) {
    const { records } = await read({ host });
    assert.deepEqual(records.map(({ uid }) => uid).sort(), [['ann'], ['bob']], host);
  }
  await assert.rejects(read({ 'ca-file': '' }), { trouble: 'unreachable', message: /certificate .* is not trusted/ });
  // The certificate is for the name localhost.
  const addresses = [server.url, server.plainUrl].map((url) => url.replace('localhost', '127.0.0.1'));
  for (const host of addresses) await assert.rejects(read({ host }), { trouble: 'unreachable', message: /altname/i });
  // A man in the middle adds the beginning of an answer that TLS would then complete.
  const between = await startBetween(new URL(server.plainUrl).port);
  t.after(() => between.close());
  await assert.rejects(read({ host: `ldap://localhost:${(between.address() as AddressInfo).port}` }), {
    trouble: 'failed',
    message: /sent more than its answer before TLS/,
  });
  await assert.rejects(read({ 'ca-file': join(folder, 'none.pem') }), /--ca-file cannot be read/);
  await writeFile(file, 'no certificate');
  await assert.rejects(read({}), /--ca-file must be a file with certificates/);
});

/** Hands everything on, and adds bytes to the first answer. */
async function startBetween(port: string): Promise<Server> {
  const server = createServer((client) => {
    const directory = connect(Number(port), 'localhost');
    client.pipe(directory);
    directory.once('data', (chunk) => {
      client.write(Buffer.concat([chunk, Buffer.from([0x30, 0x84])]));
      directory.pipe(client);
    });
    for (const [one, other] of [
      [client, directory],
      [directory, client],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return server;
}
