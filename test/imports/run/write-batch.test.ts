import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptBody,
  acceptImport,
  addOldWorker,
  addOrgs,
  entries,
  entry,
  HASH,
  importRow,
  itemRows,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const HOUR = 3_600_000;

describe('one batch', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'write_batch' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const write = (importId: string, ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: HOUR });

  it('writes the whole user, each field to its column', async () => {
    const full = {
      userName: 'Ann',
      profile: {
        firstName: 'Ann',
        lastName: 'Arbor',
        nickName: 'Annie',
        displayName: 'Ann of A.',
        preferredLanguage: 'de-CH',
        gender: 'GENDER_DIVERSE',
      },
      email: { email: 'Ann@Example.com', isEmailVerified: true },
      phone: { phone: '+41 44 1', isPhoneVerified: true },
      hashedPassword: { value: HASH },
      passwordChangeRequired: true,
    };
    const importId = await acceptImport(db.pool, [{ userId: 'auth0|1', state: 'USER_STATE_LOCKED', user: full }]);
    assert.equal(await write(importId, [0]), 1);
    const { rows } = await db.pool.query('select * from users');
    const { created_at, changed_at, password_changed_at, sequence, ...row } = rows[0];
    assert.deepEqual(row, {
      id: 'auth0|1',
      org_id: 'org',
      kind: 'human',
      addressed_at: null,
      claimed_at: null,
      phoned_at: null,
      without_mail_codes: false,
      state: 'locked',
      user_name: 'Ann',
      user_name_key: 'ann',
      given_name: 'Ann',
      family_name: 'Arbor',
      nick_name: 'Annie',
      display_name: 'Ann of A.',
      preferred_language: 'de-CH',
      gender: 3,
      email: 'Ann@Example.com',
      email_key: 'ann@example.com',
      email_verified: true,
      phone: '+41 44 1',
      phone_verified: true,
      password_hash: HASH,
      password_change_required: true,
      machine_name: null,
      machine_description: null,
      access_token_type: 0,
      secret_hash: null,
      last_login_at: null,
      rehashed_from: null,
      named_at: null,
      attempts_since: null,
      import_id: importId,
      metadata: null,
    });
    const { rows: events } = await db.pool.query('select * from history where sequence = $1', [sequence]);
    const { sequence: _, created_at: at, ...event } = events[0];
    assert.deepEqual(event, {
      aggregate_type: 'user',
      aggregate_id: 'auth0|1',
      resource_owner: 'org',
      type: 'user.human.imported',
      editor: 'system',
      payload: { importId },
    });
    assert.deepEqual([changed_at, password_changed_at, at], [created_at, created_at, created_at]);
  });

  it('stores metadata as bytes and links unchanged, and works without either', async () => {
    const value = Buffer.from([0, 255, 10, 92]).toString('base64');
    const metadata = [
      { key: 'a\tb', value },
      { key: 'unpadded', value: 'QQ' },
    ];
    const idps = [
      { configId: 'google', externalUserId: '1', displayName: 'Ann' },
      { configId: 'google', externalUserId: '2' },
    ];
    const importId = await acceptImport(db.pool, [
      entry('full', { metadata, idps }),
      entry('empty', { metadata: [], idps: [] }),
    ]);
    const [both, none] = (await itemRows(db.pool, importId)).map((item) => item.extras);
    assert.deepEqual([both?.metadata, none], [metadata, null], 'an old process would not miss a list that is there');
    assert.equal(await write(importId, [0, 1]), 2);
    const { rows } = await db.pool.query(`select key, encode(value, 'base64') as value from metadata order by key`);
    assert.deepEqual(rows, [
      { key: 'a\tb', value },
      { key: 'unpadded', value: 'QQ==' },
    ]);
    const links = await db.pool.query(
      'select user_id, idp_id, external_user_id as id, display_name from user_idp_links order by id',
    );
    assert.deepEqual(links.rows, [
      { user_id: 'id-full', idp_id: 'google', id: '1', display_name: 'Ann' },
      { user_id: 'id-full', idp_id: 'google', id: '2', display_name: '' },
    ]);
  });

  it('keeps small metadata with the user and large metadata in rows, and a row counts before', async () => {
    const large = Buffer.alloc(2000, 'x').toString('base64');
    const importId = await acceptImport(db.pool, [
      entry('small', { metadata: [{ key: 'plan', value: 'Z29sZA' }] }),
      entry('large', {
        metadata: [
          { key: 'plan', value: 'Z29sZA' },
          { key: 'note', value: large },
        ],
      }),
    ]);
    assert.equal(await write(importId, [0, 1]), 2);
    const kept = await db.pool.query(`select id, metadata from users where id like 'id-%' order by id desc`);
    assert.deepEqual(kept.rows, [
      { id: 'id-small', metadata: { plan: 'Z29sZA==' } },
      { id: 'id-large', metadata: null },
    ]);
    const metadata = () =>
      db.pool.query(`select user_id as id, key, length(value) as bytes from metadata order by 1, 2`);
    assert.deepEqual((await metadata()).rows, [
      { id: 'id-large', key: 'note', bytes: 2000 },
      { id: 'id-large', key: 'plan', bytes: 4 },
      { id: 'id-small', key: 'plan', bytes: 4 },
    ]);
    await db.pool.query(`insert into user_metadata values ('id-small', 'plan', 'silver')`);
    assert.deepEqual((await metadata()).rows.at(-1), { id: 'id-small', key: 'plan', bytes: 6 });
    await db.pool.query('delete from users');
    assert.deepEqual((await metadata()).rows, []);
  });

  it('items have small metadata by key, or as a list while a worker of an older version may write them', async () => {
    const sent = [
      { key: 'plan', value: 'Z29sZA' },
      { key: '__proto__', value: 'QQ==' },
      { key: '7', value: 'Qg==' },
    ];
    const large = [{ key: 'note', value: Buffer.alloc(900, 'x').toString('base64') }];
    const idps = [{ configId: 'google', externalUserId: '1', displayName: '' }];
    const importOf = (n: string) =>
      acceptImport(db.pool, [
        entry(`a${n}`, { metadata: sent }),
        entry(`b${n}`, { metadata: sent, otpEmail: true }),
        entry(`c${n}`, { metadata: large, idps: [{ ...idps[0], externalUserId: n }] }),
      ]);
    const kept = async (importId: string) => (await itemRows(db.pool, importId)).map((item) => item.extras);
    await addOldWorker(db.pool, 120);
    const later = await importOf('2');
    await addOldWorker(db.pool, 30);
    const beside = await importOf('1');
    const byKey = JSON.parse('{"plan": "Z29sZA==", "__proto__": "QQ==", "7": "Qg=="}');
    assert.deepEqual(await kept(later), [
      { metadata: byKey },
      { metadata: byKey, otp: ['email'] },
      { metadata: large, idps: [{ ...idps[0], externalUserId: '2' }] },
    ]);
    assert.deepEqual(await kept(beside), [
      { metadata: sent, idps: [] },
      { metadata: sent, idps: [], otp: ['email'] },
      { metadata: large, idps: [{ ...idps[0], externalUserId: '1' }] },
    ]);
    assert.deepEqual([await write(later, [0, 1, 2]), await write(beside, [0, 1, 2])], [3, 3]);
    const { rows } = await db.pool.query(
      `select u.id, u.metadata, f.otp_email, array(select key from user_metadata t where t.user_id = u.id) as keys
       from users u left join user_factors f on f.user_id = u.id where u.id like 'id-%' order by u.id`,
    );
    const usual = { metadata: byKey, keys: [] };
    assert.deepEqual(
      rows,
      ['a', 'b', 'c'].flatMap((kind) =>
        ['1', '2'].map((n) => ({
          id: `id-${kind}${n}`,
          otp_email: kind === 'b' ? true : null,
          ...(kind === 'c' ? { metadata: null, keys: ['note'] } : usual),
        })),
      ),
    );
  });

  it('adds to the counts of the import and of each organization, and ends the import with its last item', async () => {
    const orgs = [
      { orgId: 'org', humanUsers: [entry('a'), entry('b'), 7] },
      { orgId: 'other', humanUsers: [entry('c')] },
      { orgId: 'org', humanUsers: [entry('d')] },
    ];
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h' });
    assert.equal(await write(importId, [0, 3]), 2);
    const half = await importRow(db.pool, importId);
    assert.deepEqual(
      [half.state, half.total, half.succeeded, half.failed, half.finished_at],
      ['running', 5, 2, 1, null],
    );
    assert.ok(half.changed_at > half.accepted_at);
    assert.equal(await write(importId, [1, 4]), 2);
    const whole = await importRow(db.pool, importId);
    assert.deepEqual([whole.state, whole.succeeded, whole.failed, whole.mails_due], ['completed_with_errors', 4, 1, 0]);
    assert.ok(whole.finished_at >= whole.accepted_at);
    const { rows } = await db.pool.query(
      'select org_id, total, succeeded, failed from import_orgs where import_id = $1 order by org_index',
      [importId],
    );
    assert.deepEqual(rows, [
      { org_id: 'org', total: 3, succeeded: 2, failed: 1 },
      { org_id: 'other', total: 1, succeeded: 1, failed: 0 },
      { org_id: 'org', total: 1, succeeded: 1, failed: 0 },
    ]);
  });

  it('does not touch items outside the batch, settled items, or items of another import', async () => {
    const one = await acceptImport(db.pool, entries(3));
    const two = await acceptImport(db.pool, [entry('x'), entry('y')]);
    assert.equal(await write(one, [1, 99]), 1);
    assert.equal(await write(one, [1]), 0);
    assert.deepEqual(
      (await itemRows(db.pool, one)).map((i) => i.state),
      ['pending', 'succeeded', 'pending'],
    );
    assert.deepEqual(
      (await itemRows(db.pool, two)).map((i) => i.state),
      ['pending', 'pending'],
    );
    assert.deepEqual(
      await tableCounts(db.pool),
      { users: 1, events: 1, metadata: 0, links: 0, codes: 0, mails: 0 },
      'what one user is made of',
    );
  });

  it('erases the data of a user that was written, and keeps the ids that identify it', async () => {
    const importId = await acceptImport(db.pool, [
      entry('a', { metadata: [{ key: 'k', value: 'QQ==' }], phone: { phone: '1' } }),
    ]);
    await write(importId, [0]);
    const [item] = await itemRows(db.pool, importId);
    const kept = Object.entries(item as object).filter(([, value]) => value !== null);
    assert.deepEqual(Object.fromEntries(kept), {
      import_id: importId,
      ordinal: 0,
      org_index: 0,
      maybe_duplicate: false,
      state: 'succeeded',
      user_id: 'id-a',
      user_name: 'a',
    });
  });

  it('writes a large batch completely, and links each user to their event', async () => {
    const importId = await acceptImport(db.pool, entries(1000), { caller: { ...ADMIN, orgId: 'other' } });
    assert.equal(
      await write(
        importId,
        Array.from({ length: 1000 }, (_, i) => i),
      ),
      1000,
    );
    const { rows } = await db.pool.query(
      `select count(*)::int as n from users u join history e on e.sequence = u.sequence and e.aggregate_id = u.id and e.resource_owner = 'org'`,
    );
    assert.equal(rows[0].n, 1000);
    assert.equal((await importRow(db.pool, importId)).state, 'succeeded');
  });
});
