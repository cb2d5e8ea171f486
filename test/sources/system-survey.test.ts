/** Fields that the reader of a known system does not know: never passed over where they may keep somebody out. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { type Converted, recordConverter, surveyRecords } from '../../src/sources/convert.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';
import { devise } from '../../src/sources/systems/devise.ts';
import { kratos } from '../../src/sources/systems/kratos.ts';
import { ldif } from '../../src/sources/systems/ldif.ts';
import { csv } from '../../src/sources/systems/mapped.ts';
import { okta } from '../../src/sources/systems/okta.ts';

async function converted(
  source: ExportFormat,
  records: Fields[],
  { map, later = [] }: { map?: Record<string, string>; later?: Fields[] } = {},
): Promise<Converted[]> {
  const job = { source, orgId: 'shop', options: map === undefined ? {} : { map } };
  const survey = {
    isTable: false,
    async *all() {
      yield records;
    },
  };
  const convert = recordConverter(job, await surveyRecords(job, survey));
  return [...records, ...later].map(convert);
}

function statesOf(all: Converted[]): (string | undefined)[] {
  return all.map(({ entry, skip }) => skip ?? entry?.state);
}

const OUT = 'USER_STATE_INACTIVE';
const rails = (id: number, more: Fields) => ({ id, email: `a${id}@old.example`, encrypted_password: '', ...more });

test('a column of a table that may be a state and differs between users stops, with the ways on', async () => {
  const rows = [rails(1, { forum_banned: 'f' }), rails(2, { forum_banned: 't' })];
  await assert.rejects(converted(devise, rows), /^UsageError: forum_banned: may say .*--map enabled=forum_banned/);
  assert.deepEqual(statesOf(await converted(devise, rows, { map: { disabled: 'forum_banned' } })), [undefined, OUT]);
  const kept = await converted(devise, rows, { map: { 'metadata.forum_banned': 'forum_banned' } });
  assert.deepEqual(statesOf(kept), [undefined, undefined]);
  assert.deepEqual(kept[1]?.entry?.user.metadata, [
    { key: 'forum_banned', value: Buffer.from('t').toString('base64') },
  ]);
  assert.deepEqual(statesOf(await converted(devise, rows, { map: { state: '' } })), [undefined, undefined]);
  await assert.rejects(converted(devise, rows, { map: { disabled: 'Banned' } }), /no record has "Banned"/);
  await assert.rejects(converted(devise, rows, { map: { enabled: 'banned' } }), /says the opposite/);
});

test('a field that a known system reads itself cannot be mapped', async () => {
  const rows = [rails(1, { work_email: 'x@old.example' })];
  const refused = /^UsageError: --map email: Rails Devise says itself which column that is/;
  await assert.rejects(converted(devise, rows, { map: { email: 'work_email' } }), refused);
  assert.throws(
    () => recordConverter({ source: kratos, orgId: 'shop', options: { map: { userName: 'a' } } }),
    /--map userName/,
  );
  for (const source of SOURCES.filter(({ survey }) => !survey)) {
    assert.throws(
      () => recordConverter({ source, orgId: 'shop', options: { map: { email: 'a' } } }),
      /--map email/,
      source.name,
    );
  }
  const own = await converted(csv, [{ email: 'a@old.example', work: 'b@old.example' }], { map: { email: 'work' } });
  assert.equal(own[0]?.entry?.user.email.email, 'b@old.example');
});

test('a column that lets everybody in, or is the same for all, stops nothing', async () => {
  for (const values of [
    ['f', 'f'],
    ['t', 't'],
    ['', 'f'],
  ]) {
    const rows = values.map((forum_banned, i) => rails(i, { forum_banned }));
    assert.deepEqual(statesOf(await converted(devise, rows)), [undefined, undefined], values.join());
  }
});

test('a row that comes after the first reading is kept out by a value that it has alone', async () => {
  const rows = [rails(1, { forum_banned: 'f' }), rails(2, { forum_banned: '' })];
  const later = [rails(3, { forum_banned: 't' }), rails(4, { forum_banned: 'perhaps' })];
  assert.deepEqual(statesOf(await converted(devise, rows, { later })), [undefined, undefined, OUT, OUT]);
  const own = rows.map(({ encrypted_password: _, ...row }) => row);
  assert.deepEqual(statesOf(await converted(csv, own, { later })), [undefined, undefined, OUT, OUT]);
});

test('a word that is said of people keeps out under any other name of a table', async () => {
  const rows = ['member', 'Banned', 'No login', 'banned-aid'].map((role, i) =>
    rails(i, { role, newsletter: 'suspended' }),
  );
  const all = await converted(devise, rows);
  assert.deepEqual(statesOf(all), [undefined, OUT, OUT, undefined]);
  assert.match(all[1]?.notes.map(({ message }) => message).join() ?? '', /The value "Banned" of role says/);
});

test('numbers that a known system has for groups and codes keep out', async () => {
  const board = ['2', '7', '12'].map((usergroup, id) => ({
    id,
    email: `${id}@mybb.example`,
    loginkey: 'k',
    usergroup,
  }));
  assert.deepEqual(statesOf(await converted(csv, board)), [undefined, OUT, undefined]);
  const woltlab = ['0', '819212'].map((activationCode, userID) => ({
    userID,
    email: `${userID}@wcf.example`,
    registrationDate: '1',
    activationCode,
  }));
  assert.deepEqual(statesOf(await converted(csv, woltlab)), [undefined, OUT]);
  assert.deepEqual(statesOf(await converted(csv, woltlab, { map: { state: '' } })), [undefined, undefined]);
});

test('where a state is beside an address, a word for a state is no region', async () => {
  const rows = ['Texas', 'banned', 'Ohio'].map((state, i) => rails(i, { state, city: 'X' }));
  assert.deepEqual(statesOf(await converted(devise, rows)), [undefined, OUT, undefined]);
});

test('records of an API are read once: such a value makes its user inactive, with a note', async () => {
  const identity = (id: string, more: Fields) => ({
    id,
    state: 'active',
    schema_id: 'default',
    traits: { email: `${id}@old.example` },
    ...more,
  });
  const all = await converted(kratos, [
    identity('a', { partner_blocked: false }),
    identity('b', { partner_blocked: true }),
    identity('c', { club_status: 'gone fishing' }),
    identity('d', { club_status: { a: 1 } }),
  ]);
  assert.deepEqual(statesOf(all), [undefined, OUT, OUT, undefined]);
  assert.ok(
    all[2]?.notes.some(({ id, message }) => id === 'STATE-UNKNOWN' && /gone fishing.*club_status/.test(message)),
  );
  const user = {
    id: '1',
    status: 'ACTIVE',
    statusChanged: '2024-01-01T00:00:00Z',
    profile: { login: 'a@old.example' },
  };
  assert.deepEqual(statesOf(await converted(okta, [user])), [undefined]);
});

test('attributes of a directory that nobody knows are read as those of a table', async () => {
  const person = (uid: string, more: Fields) => ({
    dn: `uid=${uid}`,
    objectclass: ['person'],
    uid: [uid],
    sn: ['A'],
    ...more,
  });
  const people = [person('a', { 'club-blocked': ['FALSE'] }), person('b', { 'club-blocked': ['TRUE'] })];
  await assert.rejects(converted(ldif, people), /club-blocked: may say/);
  assert.deepEqual(statesOf(await converted(ldif, people, { map: { disabled: 'club-blocked' } })), [undefined, OUT]);
  const plain = ['Marble Owl', 'Marble Owl'].map((text, i) => person(`p${i}`, { userpassword: [text] }));
  await assert.rejects(converted(ldif, plain), /all 2 users have the same password/);
  // Two of many who have hashes may have the same by chance.
  const hashed = ['a', 'b', 'c'].map((uid) =>
    person(uid, { userpassword: ['{SSHA}RLk8OEh3lsZ2/8cOF5TN0Q3J8MmRMTIz'] }),
  );
  assert.equal((await converted(ldif, [...plain, ...hashed])).length, 5);
  const [first] = await converted(ldif, plain, { map: { initialPassword: 'password' } });
  assert.deepEqual([first?.entry?.user.password, first?.entry?.user.passwordChangeRequired], ['Marble Owl', true]);
});
