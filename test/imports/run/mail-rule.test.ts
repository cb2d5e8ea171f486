/** Contract section 4, "Mail rule of imports": a mail is sent if and only if one is due, and of the right kind. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entry,
  HASH,
  importRow,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const HOUR = 3_600_000;

/** Address verified?, hash present?, requested state → kind of mail, resulting state of the user. */
const MATRIX: [boolean | undefined, boolean, string | undefined, string | null, string][] = [
  [true, true, undefined, null, 'active'],
  [true, true, 'ACTIVE', null, 'active'],
  [false, true, undefined, 'verify_email', 'active'],
  [undefined, true, 'ACTIVE', 'verify_email', 'active'],
  [true, false, undefined, 'initialise', 'initial'],
  [false, false, undefined, 'initialise', 'initial'],
  [undefined, false, 'ACTIVE', 'initialise', 'initial'],
  ...(['INACTIVE', 'LOCKED'] as const).flatMap((state) =>
    [true, false].flatMap((verified) =>
      [true, false].map((hash): [boolean, boolean, string, null, string] => [
        verified,
        hash,
        state,
        null,
        state.toLowerCase(),
      ]),
    ),
  ),
];

const people = MATRIX.map(([isEmailVerified, hash, state], i) =>
  entry(
    `u${i}`,
    { email: { email: `u${i}@example.com`, isEmailVerified }, hashedPassword: hash ? { value: HASH } : undefined },
    { state: state && `USER_STATE_${state}` },
  ),
);

describe('the mail rule', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'mail_rule' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  it('is stricter where the login policy says so: who has a way in gets no mail', async () => {
    const kinds = async (policy: string) => {
      await wipe(db.pool);
      await db.pool.query(`update login_policies set ${policy}`);
      const importId = await acceptImport(db.pool, people);
      await writeBatch(writer, importId, [...MATRIX.keys()], { codeTtlMs: HOUR });
      const { rows } = await db.pool.query(
        'select kind, count(*)::int as n from mail_outbox group by kind order by kind',
      );
      const states = await db.pool.query(`select count(*)::int as n from users where state = 'initial'`);
      assert.equal(states.rows[0].n, 3, 'they stay INITIAL');
      return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
    };
    try {
      assert.deepEqual(await kinds(`init_mail = 'unlessWayIn', mail_code = 'withoutPassword'`), {});
      assert.deepEqual(await kinds(`init_mail = 'unlessWayIn', mail_code = 'off'`), { initialise: 3 });
      assert.deepEqual(await kinds(`init_mail = 'always', mail_code = 'off'`), { initialise: 3, verify_email: 2 });
    } finally {
      await db.pool.query(`update login_policies set init_mail = default, mail_code = default`);
    }
  });

  it('holds for every kind of user, in one batch', async () => {
    const importId = await acceptImport(db.pool, people);
    await writeBatch(writer, importId, [...MATRIX.keys()], { codeTtlMs: HOUR });
    const { rows } = await db.pool.query(`
      select u.user_name, u.state, u.email_verified, m.kind, m.import_id, m.state as mail_state, c.purpose, c.user_id = u.id as own_code,
        m.url_template, c.generation, c.tries, c.used_at, extract(epoch from c.expires_at - u.created_at)::int as valid_s
      from users u left join mail_outbox m on m.user_id = u.id left join codes c on c.id = m.code_id
      order by substr(u.user_name, 2)::int`);
    assert.equal(rows.length, MATRIX.length, 'at most one mail for each user');
    for (const [i, [verified, , , mail, state]] of MATRIX.entries()) {
      const row = rows[i];
      const which = JSON.stringify(MATRIX[i]);
      assert.deepEqual(
        [row.state, row.email_verified, row.kind, row.purpose],
        [state, verified ?? false, mail, mail],
        which,
      );
      if (mail === null) continue;
      assert.deepEqual(
        [row.own_code, row.import_id, row.mail_state, row.valid_s],
        [true, importId, 'pending', 3600],
        which,
      );
      assert.deepEqual([row.url_template, row.generation, row.tries, row.used_at], [null, 0, 0, null]);
    }
    const due = MATRIX.filter(([, , , mail]) => mail !== null).length;
    const { codes, mails } = await tableCounts(db.pool);
    assert.deepEqual([codes, mails], [due, due]);
    const { mails_due, mails_sent, mails_failed } = await importRow(db.pool, importId);
    assert.deepEqual([mails_due, mails_sent, mails_failed], [due, 0, 0]);
  });

  it('sends nothing to users who failed', async () => {
    const unverified = { email: { email: 'x@example.com' } };
    await writeBatch(writer, await acceptImport(db.pool, [entry('x', unverified)]), [0], { codeTtlMs: HOUR });
    const second = await acceptImport(db.pool, [entry('x', unverified), entry('y', unverified)]);
    await writeBatch(writer, second, [0, 1], { codeTtlMs: HOUR });
    assert.equal((await importRow(db.pool, second)).mails_due, 1);
    assert.equal((await tableCounts(db.pool)).mails, 2);
  });
});
