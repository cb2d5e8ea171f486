/** Migration 156: keys of names in SQL as in the program; and what becomes of users whose names look equal. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { nameKey } from '../../../src/platform/fields.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const FILE = new URL('../../../src/platform/db/migrations/156_compared_names.sql', import.meta.url);
const FUNCTIONS_END = '-- Whether a key may become another one';

/** The key before: NFC, lower case. */
const oldKey = (name: string) => name.normalize('NFC').toLowerCase().normalize('NFC');

const NAMES = [
  ...[
    'Ann',
    'ANN@ACME.EXAMPLE',
    'ada\u200b',
    'a\u00adda',
    '\u200eada\u200e',
    'ＡＮＮ',
    'ﬁona',
    'Jörg',
    'J\u006f\u0308rg',
  ],
  ...[
    'ber\u00a0ta',
    '"mai..mori"@mail.example',
    '"a b"@mail.example',
    'nina@XN--MNCHEN-3YA.example',
    'nina@münchen.example',
  ],
  ...[
    'x@a.xn--fiqs8s',
    'x@xn--80ak6aa92e.com',
    'x@xn--zzzzzzzzz-99.example',
    'xn--mnchen-3ya',
    '❤\ufe0f',
    '한글',
    '가나',
    'ﾊﾝ',
  ],
  ...[
    'x@xn--mgba3gch31f.example',
    'Straße@straße.example',
    'x@xn--strae-oqa.example',
    'ΟΔΥΣΣΕΥΣ',
    '½',
    'a@b@xn--mnchen-3ya.example',
  ],
];

describe('compared names', () => {
  let db: TestDatabase;
  let pool: Pool;
  let migration: string;
  before(async () => {
    db = await testDatabase();
    pool = db.pool;
    migration = await readFile(FILE, 'utf8');
    for (const org of ['acme', 'bolt'])
      await pool.query(`insert into organizations (id, name, primary_domain, sequence) values ($1, $1, $1, 1)`, [org]);
  });
  beforeEach(() => pool.query('delete from users'));
  after(() => db.drop());

  async function add(
    id: string,
    userName: string,
    year: number,
    { orgId = 'acme', email = null as string | null } = {},
  ) {
    await pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, email_verified, sequence, created_at)
       values ($1, $2, 'human', 'active', $3, $4, $5, $6, true, 1, $7)`,
      [id, orgId, userName, oldKey(userName), email, email && oldKey(email), new Date(Date.UTC(year, 0))],
    );
  }

  const users = async () =>
    (
      await pool.query(
        'select id, user_name as name, user_name_key as key, email_key as email, named_at from users order by id',
      )
    ).rows;

  it('have the same keys in SQL as in the program', async () => {
    await pool.query(migration.slice(0, migration.indexOf(FUNCTIONS_END)));
    const { rows } = await pool.query(
      `select compared_name(k) as key from unnest($1::text[]) with ordinality as t(k, n) order by n`,
      [NAMES.map(oldKey)],
    );
    await pool.query('drop function compared_name(text); drop function unpunycode(text)');
    assert.deepEqual(
      rows.map(({ key }, i) => [NAMES[i], key]),
      NAMES.map((name) => [name, nameKey(name)]),
    );
    for (const name of NAMES) assert.equal(nameKey(nameKey(name)), nameKey(name), name);
  });

  it('are one for each: the eldest keeps the name, the others get a name of their own, and an event', async () => {
    await add('1', 'ada', 2024);
    await add('2', 'a\u200bda', 2023);
    await add('3', 'ada\u200b', 2025);
    await add('4', 'ada\u200b', 2025, { orgId: 'bolt' });
    await add('5', 'eve', 2020);
    await pool.query(migration);
    const found = await users();
    assert.deepEqual(
      found.map(({ id, key }) => [id, key.replace(/~[0-9a-f]{12}$/, '~…')]),
      [
        ['1', 'ada~…'],
        ['2', 'ada'],
        ['3', 'ada~…'],
        ['4', 'ada'],
        ['5', 'eve'],
      ],
    );
    for (const { name, key } of found) assert.equal(key, nameKey(name));
    assert.deepEqual(
      found.map(({ named_at }) => named_at !== null),
      [true, false, true, false, false],
    );
    const { rows } = await pool.query(
      `select aggregate_id as id from events where type = 'user.username.changed' and editor = 'system' order by 1`,
    );
    assert.deepEqual(rows, [{ id: '1' }, { id: '3' }]);
  });

  it('have addresses in one form, which are theirs since when they were', async () => {
    await add('1', 'nina@xn--mnchen-3ya.example', 2024, { email: 'nina@xn--mnchen-3ya.example' });
    await add('2', 'otto', 2024, { email: 'Otto@münchen.example' });
    await pool.query(migration);
    const found = await users();
    assert.deepEqual(
      found.map(({ key, email }) => [key, email]),
      [
        ['nina@münchen.example', 'nina@münchen.example'],
        ['otto', 'otto@münchen.example'],
      ],
    );
    const { rows } = await pool.query('select addressed_at from users');
    assert.ok(rows.every((row) => row.addressed_at === null));
  });

  it('stay as they are when the migration runs again, and nothing of it is left', async () => {
    await add('1', 'ada\u200b', 2024);
    await add('2', 'ada', 2025);
    await pool.query(migration);
    const first = await users();
    await pool.query(migration);
    assert.deepEqual(await users(), first);
    const { rows } = await pool.query(
      `select proname as name from pg_proc where proname in ('compared_name', 'unpunycode', 'may_change_156')
       union all select relname from pg_class where relname like '%\\_156'`,
    );
    assert.deepEqual(rows, []);
  });
});
