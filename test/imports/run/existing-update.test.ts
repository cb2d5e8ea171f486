/** `onExisting=update`: existing users are changed to match their entry, and nothing else is touched. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { specialStores } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { importFirst, SETTINGS, special } from '../../support/imports/existing.ts';
import {
  acceptImport,
  addOldWorker,
  addOrgs,
  type Entry,
  entry,
  errorIdOf,
  HASH,
  importRow,
  itemRows,
  openWriterPool,
  type Row,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const UPDATE = special('update');
/** A bcrypt hash of another password. */
const OTHER_HASH = '$2b$04$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';

describe('an import that updates existing users', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'existing_update' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const first = (...people: unknown[]) => importFirst(db.pool, writer, people);
  async function update(people: unknown[], options: Parameters<typeof acceptImport>[2] = {}): Promise<string> {
    const importId = await acceptImport(db.pool, people, { special: UPDATE, ...options });
    await specialStores(writer, SETTINGS).update.write(importId, [...people.keys()]);
    return importId;
  }
  const user = async (id: string): Promise<Row> =>
    (await db.pool.query('select * from users where id = $1', [id])).rows[0];
  async function changesOf(importId: string): Promise<unknown[]> {
    return (await itemRows(db.pool, importId)).map((i) => errorIdOf(i) ?? i.changed ?? i.state);
  }
  const mailsTo = async (id: string) =>
    (
      await db.pool.query(
        `select m.kind, m.import_id, c.used_at is null as open from mail_outbox m join codes c on c.id = m.code_id
         where m.user_id = $1 order by m.id`,
        [id],
      )
    ).rows;
  const full = {
    profile: {
      firstName: 'Ann',
      lastName: 'Arbor',
      nickName: 'Annie',
      preferredLanguage: 'de',
      gender: 'GENDER_FEMALE',
    },
    phone: { phone: '+41791112233', isPhoneVerified: true },
    passwordChangeRequired: true,
    metadata: [{ key: 'plan', value: 'QQ==' }],
    idps: [{ configId: 'google', externalUserId: '1', displayName: 'Ann' }],
  };

  it('skips a user that already matches the entry', async () => {
    await first(entry('ann', full));
    const before = await user('id-ann');
    const importId = await update([entry('ann', full)]);
    assert.deepEqual(await changesOf(importId), ['skipped']);
    assert.deepEqual(await user('id-ann'), before);
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.skipped, row.succeeded, row.mails_due], ['succeeded', 1, 0, 0]);
  });

  it('writes new users in the same batch as existing ones', async () => {
    await first(entry('old'));
    const importId = await update([entry('new'), entry('old', { userName: 'older' })]);
    assert.deepEqual(await changesOf(importId), ['succeeded', ['userName']]);
    assert.deepEqual([(await user('id-old')).user_name_key, (await user('id-new')).import_id], ['older', importId]);
    assert.equal((await importRow(db.pool, importId)).state, 'succeeded');
  });

  it('changes what differs, and names it in the item and in one event, without values', async () => {
    const created = await first(entry('ann', full));
    const importId = await update([
      entry('ann', {
        profile: {
          firstName: 'Anna',
          lastName: 'Arbor',
          nickName: '',
          preferredLanguage: 'en',
          gender: 'GENDER_DIVERSE',
        },
        email: { email: 'anna@example.com', isEmailVerified: true },
        phone: { phone: '+41794445566', isPhoneVerified: false },
        hashedPassword: { value: OTHER_HASH },
        passwordChangeRequired: false,
        metadata: [
          { key: 'plan', value: 'Qg==' },
          { key: 'seat', value: 'MQ' },
        ],
        idps: [{ configId: 'google', externalUserId: '2', displayName: '' }],
      }),
    ]);
    const changed = [
      'profile.firstName',
      'profile.nickName',
      'profile.displayName',
      'profile.preferredLanguage',
      'profile.gender',
      'email.email',
      'phone.phone',
      'phone.isPhoneVerified',
      'password',
      'passwordChangeRequired',
      'metadata',
      'idps',
    ];
    assert.deepEqual(await changesOf(importId), [changed]);
    const now = await user('id-ann');
    assert.deepEqual(
      [now.given_name, now.nick_name, now.display_name, now.preferred_language, now.gender, now.email, now.email_key],
      ['Anna', '', 'Anna Arbor', 'en', 3, 'anna@example.com', 'anna@example.com'],
    );
    assert.deepEqual(
      [now.phone, now.phone_verified, now.password_hash, now.password_change_required, now.import_id],
      ['+41794445566', false, OTHER_HASH, false, created],
    );
    const { rows: events } = await db.pool.query('select * from events where sequence = $1', [now.sequence]);
    assert.deepEqual(
      [events[0].type, events[0].editor, events[0].resource_owner, events[0].payload],
      ['user.human.updated', 'admin', 'org', { importId, changed }],
    );
    assert.deepEqual(now.changed_at, events[0].created_at);
    const { rows } = await db.pool.query(`select key, encode(value, 'base64') as value from metadata order by key`);
    assert.deepEqual(rows, [
      { key: 'plan', value: 'Qg==' },
      { key: 'seat', value: 'MQ==' },
    ]);
    const { rows: links } = await db.pool.query('select external_user_id as id from user_idp_links order by id');
    assert.deepEqual(
      links.map((l) => l.id),
      ['1', '2'],
    );
    const [item] = await itemRows(db.pool, importId);
    assert.deepEqual([item?.email, item?.password_hash, item?.extras], [null, null, null]);
  });

  it('adds large metadata, which an item has as a list', async () => {
    const note = Buffer.alloc(1200, 'x').toString('base64');
    const sent = (value: string) => entry('ann', { metadata: [{ key: 'note', value }] });
    await first(entry('ann'));
    assert.deepEqual(await changesOf(await update([sent(note)])), [['metadata']]);
    assert.deepEqual(await changesOf(await update([sent(note)])), ['skipped']);
    assert.deepEqual(await changesOf(await update([sent('QQ')])), [['metadata']]);
    const { rows } = await db.pool.query(`select key, encode(value, 'base64') as value from metadata`);
    assert.deepEqual(rows, [{ key: 'note', value: 'QQ==' }]);
  });

  for (const read of ['compact', 'by old workers'])
    it(`keeps the fields that the entry omits, in items that are read ${read}`, async () => {
      if (read !== 'compact') await addOldWorker(db.pool);
      await first(entry('ann', full, { state: 'USER_STATE_INACTIVE' }));
      const before = await user('id-ann');
      const bare: Entry = {
        userId: 'id-ann',
        user: { profile: { firstName: 'Bea', lastName: 'Arbor' }, email: { email: 'ann@example.com' } },
      };
      const importId = await update([bare]);
      assert.deepEqual(await changesOf(importId), [['profile.firstName', 'profile.displayName']]);
      const { sequence: _s, changed_at: _c, given_name, display_name, ...rest } = await user('id-ann');
      const { sequence: _s2, changed_at: _c2, given_name: _g, display_name: _d, ...old } = before;
      assert.deepEqual([given_name, display_name], ['Bea', 'Bea Arbor']);
      assert.deepEqual(rest, old);
      await update([
        { ...bare, user: { ...bare.user, profile: { firstName: 'Bea', lastName: 'A.', displayName: 'B.' } } },
      ]);
      await update([{ ...bare, user: { ...bare.user, profile: { firstName: 'Cleo', lastName: 'C.' } } }]);
      assert.equal((await user('id-ann')).display_name, 'B.', 'a display name that was chosen is not derived again');
    });

  for (const read of ['compact', 'by old workers'])
    it(`matches an entry without an id by user name, or it becomes a new user, in items that are read ${read}`, async () => {
      if (read !== 'compact') await addOldWorker(db.pool);
      await first(entry('ann'));
      const { userId: _, ...unnamed } = entry('ANN', { email: { email: 'ann@example.com' } });
      const { userId: _b, ...fresh } = entry('bob');
      const accepted = await acceptImport(db.pool, [unnamed, fresh], { special: UPDATE });
      const forms = (await itemRows(db.pool, accepted)).map((i) => typeof i.extras?.unsaid);
      assert.deepEqual(forms, read === 'compact' ? ['number', 'number'] : ['object', 'object']);
      const importId = await update([unnamed, fresh]);
      const [ann, bob] = await itemRows(db.pool, importId);
      assert.deepEqual([ann?.user_id, ann?.changed, bob?.state], ['id-ann', ['userName'], 'succeeded']);
      assert.equal((await user(bob?.user_id)).user_name, 'bob');
    });

  it('never touches a user of another organization, a machine user, or a user with the same name but another id', async () => {
    await first(entry('ann'), entry('bob'));
    await db.pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       values ('robot', 'org', 'machine', 'active', 'robot', 'robot', 1)`,
    );
    const before = (await db.pool.query('select * from users order by id')).rows;
    const { userId: _, ...robot } = entry('robot');
    const elsewhere = await update([entry('ann', { userName: 'free' })], { orgId: 'other' });
    const importId = await update([
      { ...entry('r'), userId: 'robot' },
      robot,
      { ...entry('bob'), userId: 'new' },
      { ...entry('bob'), userId: 'id-ann' },
      entry('ok'),
    ]);
    assert.deepEqual(await changesOf(elsewhere), ['USER-ID-TAKEN']);
    const outcome = await changesOf(importId);
    // The name appears twice in the body: the second entry fails before any existing user is read.
    assert.deepEqual(outcome, ['USER-ID-TAKEN', 'USER-NAME-TAKEN', 'USER-NAME-TAKEN', 'USER-NAME-TAKEN', 'succeeded']);
    assert.deepEqual((await db.pool.query(`select * from users where id <> 'id-ok' order by id`)).rows, before);
  });

  it('never changes users with more rights than the caller, and never stops an IAM_OWNER', async () => {
    await first(entry('boss'), entry('peer'), entry('owner'));
    await db.pool.query(`insert into instance_members (user_id, roles, sequence) values ('id-boss', '{IAM_OWNER}', 1)`);
    await db.pool.query(
      `insert into org_members (org_id, user_id, roles, sequence)
       values ('other', 'id-peer', '{ORG_OWNER_VIEWER}', 1), ('org', 'id-owner', '{ORG_OWNER}', 1)`,
    );
    await first({ ...entry('caller'), userId: 'caller' });
    await db.pool.query(
      `insert into org_members (org_id, user_id, roles, sequence) values ('org', 'caller', '{ORG_OWNER}', 1)`,
    );
    const caller = { userId: 'caller', orgId: 'org', isIamOwner: false, orgRoles: new Map([['org', ['ORG_OWNER']]]) };
    const people = ['boss', 'peer', 'owner'].map((name) => entry(name, { hashedPassword: { value: OTHER_HASH } }));
    const importId = await update(people, { caller });
    assert.deepEqual(await changesOf(importId), ['AUTH-PERMISSION', 'AUTH-PERMISSION', ['password']]);
    await db.pool.query(`insert into instance_members (user_id, roles, sequence) values ('caller', '{IAM_OWNER}', 1)`);
    const stop = await update([entry('boss', {}, { state: 'USER_STATE_LOCKED' })], { caller });
    assert.deepEqual(await changesOf(stop), ['IMPORT-IAM-OWNER']);
    assert.deepEqual(await changesOf(await update(people, { caller })), [['password'], ['password'], 'skipped']);
  });

  it('revokes the codes of a changed address, and sends one mail where the mail rule requires it', async () => {
    const unverified = (email: string) => ({ email: { email } });
    const importId = await first(entry('ann', unverified('ann@example.com')), entry('bob'));
    const second = await update([
      entry('ann', unverified('new@example.com')),
      entry('bob', unverified('b@example.com')),
    ]);
    assert.deepEqual(await mailsTo('id-ann'), [{ kind: 'verify_email', import_id: second, open: true }]);
    assert.deepEqual(await mailsTo('id-bob'), [{ kind: 'verify_email', import_id: second, open: true }]);
    const { rows } = await db.pool.query('select used_at is null as open from codes order by id');
    assert.deepEqual(
      rows.map((r) => r.open),
      [false, true, true],
    );
    assert.deepEqual(
      [(await importRow(db.pool, importId)).mails_due, (await importRow(db.pool, second)).mails_due],
      [0, 2],
    );
    const third = await update([entry('ann', unverified('new@example.com')), entry('bob')]);
    assert.deepEqual(await changesOf(third), ['skipped', ['email.email', 'email.isEmailVerified']]);
    assert.deepEqual(await mailsTo('id-bob'), [], 'the verified address needs no code');
  });

  it('makes an INITIAL user active with its first password, and keeps it INITIAL with a new address', async () => {
    const none = { hashedPassword: undefined };
    await first(
      entry('ann', none),
      entry('bob', { ...none, email: { email: 'bob@example.com' } }),
      entry('cleo', none),
    );
    const importId = await update([
      entry('ann'),
      entry('bob', { email: { email: 'bob@example.com' } }),
      entry('cleo', { ...none, email: { email: 'c@example.com', isEmailVerified: true } }),
    ]);
    assert.deepEqual(await changesOf(importId), [['password'], ['password'], ['email.email']]);
    const states = await Promise.all(['ann', 'bob', 'cleo'].map(async (name) => (await user(`id-${name}`)).state));
    assert.deepEqual(states, ['active', 'active', 'initial']);
    assert.deepEqual(await mailsTo('id-ann'), []);
    assert.deepEqual(
      (await mailsTo('id-bob')).map((m) => m.kind),
      ['verify_email'],
    );
    assert.deepEqual(await mailsTo('id-cleo'), [{ kind: 'initialise', import_id: importId, open: true }]);
    const again = await update([entry('ann', none)]);
    assert.deepEqual(await changesOf(again), ['skipped'], 'a password is never taken away');
  });

  it('applies states, ends the sessions that a state change ends, and gives all attempts back to who is let in', async () => {
    await first(entry('ann'), entry('bob', { email: { email: 'bob@example.com' } }, { state: 'USER_STATE_LOCKED' }));
    await db.pool.query(`insert into sessions (id, user_id, token_hash, sequence) values ('s', 'id-ann', 'x', 1)`);
    const importId = await update([
      entry('ann', {}, { state: 'USER_STATE_INACTIVE' }),
      entry('bob', { email: { email: 'bob@example.com' } }, { state: 'USER_STATE_ACTIVE' }),
    ]);
    assert.deepEqual(await changesOf(importId), [['state'], ['state']]);
    assert.deepEqual([(await user('id-ann')).state, (await user('id-bob')).state], ['inactive', 'active']);
    assert.equal((await db.pool.query('select from sessions')).rowCount, 0);
    const { rows } = await db.pool.query('select id from users where attempts_since = changed_at');
    assert.deepEqual(rows, [{ id: 'id-bob' }]);
    assert.deepEqual(
      (await mailsTo('id-bob')).map((m) => m.kind),
      ['verify_email'],
    );
  });

  it('recognises a hash that a login has since replaced by a better one', async () => {
    await first(entry('ann'));
    await db.pool.query(`update users set password_hash = $1, rehashed_from = $2`, [
      OTHER_HASH,
      createHash('sha256').update(HASH).digest(),
    ]);
    assert.deepEqual(await changesOf(await update([entry('ann')])), ['skipped']);
    assert.equal((await user('id-ann')).password_hash, OTHER_HASH);
  });

  it('handles users who swap their names, one after the other', async () => {
    await first(entry('ann'), entry('bob'));
    const swapped = [entry('ann', { userName: 'bob' }), entry('bob', { userName: 'ann' })];
    assert.deepEqual(await changesOf(await update(swapped)), ['USER-NAME-TAKEN', 'USER-NAME-TAKEN']);
    const { rows } = await db.pool.query('select user_name from users order by id');
    assert.deepEqual(
      rows.map((r) => r.user_name),
      ['ann', 'bob'],
    );
  });

  it('leaves nothing behind once the import does not run', async () => {
    await first(entry('ann'));
    const importId = await acceptImport(db.pool, [entry('ann', full)], { special: UPDATE });
    const [before, counts] = [await user('id-ann'), await tableCounts(db.pool)];
    await db.pool.query(`update imports set deadline = now() - interval '1s' where id = $1`, [importId]);
    await assert.rejects(specialStores(writer, SETTINGS).update.write(importId, [0]), { kind: 'not-running' });
    assert.deepEqual([await user('id-ann'), await tableCounts(db.pool)], [before, counts]);
  });

  it('is done once, however many workers try', async () => {
    const people = Array.from({ length: 40 }, (_, i) => entry(`p${i}`));
    await first(...people);
    const changed = people.map((p, i) => (i % 2 ? p : { ...p, user: { ...p.user, phone: { phone: `+4179000${i}` } } }));
    const importId = await acceptImport(db.pool, changed, { special: UPDATE });
    const store = specialStores(writer, SETTINGS).update;
    await Promise.all([1, 2, 3].map(() => store.write(importId, [...people.keys()])));
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.succeeded, row.skipped], ['succeeded', 20, 20]);
    const { rows } = await db.pool.query(`select count(*)::int as n from events where type = 'user.human.updated'`);
    assert.equal(rows[0].n, 20);
  });
});
