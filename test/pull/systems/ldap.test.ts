/** Users from a real OpenLDAP server, by paged searches. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Attribute, Change, Client } from 'ldapts';
import { ldap } from '../../../src/pull/systems/ldap.ts';
import { recordConverter } from '../../../src/sources/convert.ts';
import { ldifRecords } from '../../../src/sources/read/ldif.ts';
import { ldif } from '../../../src/sources/systems/ldif/ldif.ts';
import { readAll } from '../../support/pull/read.ts';
import { ROOT_DN, ROOT_PASSWORD, SUFFIX, startSlapd } from '../../support/pull/servers.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';

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

async function* once(text: string): AsyncGenerator<Buffer> {
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
    for await (const group of ldifRecords(once(text))) for (const { value } of group) read.push(value);
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
