/** The sweeps of the role maintenance: each removes what is past its time, a bounded number of rows a statement. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../src/platform/config.ts';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
import { SWEEP_ROWS } from '../../src/platform/db/sweep.ts';
import { SWEEPS } from '../../workers/maintenance.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { rowsRead } from '../support/stores/rows-read.ts';

const EXPIRED = SWEEP_ROWS + 5;
/** So many that a scan of the table is noticed. */
const KEPT = 5 * SWEEP_ROWS;
const TIME = 'now() - $3::interval';
const USERS = `with u as (
  insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
  select $1 || n, 'org', 'machine', 'active', $1 || n, $1 || n, 1 from generate_series(1, $2::int) n returning id)`;
const NUMBERS = 'generate_series(1, $2::int) n';

const EVENTS = 'insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, created_at)';
/** Events that are older have lower numbers. */
const SEQUENCE = `case when $1 like 'old%' then n else n + 1000000 end`;

const EMPTY = `truncate users, codes, mail_outbox, login_networks, mail_counts, sessions, personal_access_tokens, machine_keys,
  login_delays, attempt_counts, oauth_models, console_sessions, idempotency_keys, audit_events, events, idps,
  idp_round_trips, webauthn_challenges`;

interface Case {
  sweep: string;
  table: string;
  /** Adds $2 rows whose names start with $1, and whose age is $3. */
  plant: string;
  /** The ages of rows that are kept, and of rows that are not. */
  ages: [kept: string, expired: string];
}

const CASES: Case[] = [
  {
    sweep: 'login delays',
    table: 'login_delays',
    plant: `insert into login_delays select hashtext($1 || n), 1, ${TIME} from ${NUMBERS}`,
    ages: ['23 hours', '25 hours'],
  },
  {
    sweep: 'login networks',
    table: 'login_networks',
    plant: `${USERS} insert into login_networks select id, 1, ${TIME} from u`,
    ages: ['29 days', '31 days'],
  },
  {
    sweep: 'mail counts',
    table: 'mail_counts',
    plant: `${USERS} insert into mail_counts select id, 'user', 1, ${TIME} from u`,
    ages: ['23 hours', '25 hours'],
  },
  {
    sweep: 'code holders',
    table: 'code_holders',
    plant: `insert into code_holders select n, sha256(($1 || n)::bytea), 0, ${TIME} from ${NUMBERS}`,
    ages: ['59 minutes', '61 minutes'],
  },
  {
    sweep: 'attempts',
    table: 'attempt_counts',
    plant: `insert into attempt_counts select hashtext($1 || n), 1, ${TIME} from ${NUMBERS}`,
    ages: ['-1 minutes', '1 second'],
  },
  {
    sweep: 'oauth',
    table: 'oauth_models',
    plant: `insert into oauth_models (id_hash, kind, payload, expires_at)
      select sha256(($1 || n)::bytea), 'Session', '{}', ${TIME} from ${NUMBERS}`,
    ages: ['-1 hours', '1 second'],
  },
  {
    sweep: 'keys',
    table: 'idempotency_keys',
    plant: `insert into idempotency_keys (caller, path, key, request_hash, import_id, created_at)
      select 'c', 'p', $1 || n, 'x', n, ${TIME} from ${NUMBERS}`,
    ages: ['23 hours', '25 hours'],
  },
  {
    sweep: 'waiting sessions',
    table: 'sessions',
    plant: `${USERS} insert into sessions (id, user_id, token_hash, sequence, created_at, password_verified)
      select id, id, id::bytea, 1, ${TIME}, false from u`,
    ages: ['59 minutes', '61 minutes'],
  },
  {
    sweep: 'sessions',
    table: 'sessions',
    plant: `${USERS} insert into sessions (id, user_id, token_hash, sequence, created_at)
      select id, id, id::bytea, 1, ${TIME} from u`,
    ages: ['29 days', '31 days'],
  },
  {
    sweep: 'mails',
    table: 'mail_outbox',
    plant: `${USERS}, c as (
        insert into codes (user_id, purpose, expires_at) select id, 'verify_email', ${TIME} from u returning *)
      insert into mail_outbox (kind, user_id, code_id, state, settled_at)
      select purpose, user_id, id, 'sent', expires_at from c`,
    ages: ['30 days', '32 days'],
  },
  {
    sweep: 'mails',
    table: 'codes',
    plant: `${USERS}, c as (
        insert into codes (user_id, purpose, expires_at) select id, 'verify_email', ${TIME} from u returning *)
      insert into mail_outbox (kind, user_id, code_id, state, settled_at)
      select purpose, user_id, id, 'failed', expires_at from c`,
    ages: ['30 days', '32 days'],
  },
  {
    sweep: 'used codes',
    table: 'codes',
    plant: `${USERS} insert into codes (user_id, purpose, used_at, expires_at)
      select id, 'verify_email', ${TIME}, now() from u`,
    ages: ['30 days', '32 days'],
  },
  {
    sweep: 'unused codes',
    table: 'codes',
    plant: `${USERS} insert into codes (user_id, purpose, expires_at) select id, 'reset_password', ${TIME} from u`,
    ages: ['30 days', '32 days'],
  },
  {
    sweep: 'tokens',
    table: 'personal_access_tokens',
    plant: `${USERS} insert into personal_access_tokens (id, user_id, token_hash, sequence, expires_at)
      select id, id, id::bytea, 1, ${TIME} from u`,
    ages: ['29 days', '31 days'],
  },
  {
    sweep: 'machine keys',
    table: 'machine_keys',
    plant: `${USERS} insert into machine_keys (id, user_id, public_jwk, sequence, expires_at)
      select id, id, '{}', 1, ${TIME} from u`,
    ages: ['29 days', '31 days'],
  },
  {
    sweep: 'console',
    table: 'console_sessions',
    plant: `insert into console_sessions select sha256(($1 || n)::bytea), '', ${TIME} from ${NUMBERS}`,
    ages: ['-1 minutes', '1 second'],
  },
  {
    sweep: 'visits at providers',
    table: 'idp_round_trips',
    plant: `with p as (
        insert into idps (id, type, name, settings, sequence) values ('p', 'oidc', '', '{}', 1) on conflict do nothing)
      insert into idp_round_trips (id, idp_id, purpose, state_hash, sealed, expires_at)
      select $1 || n, 'p', 'sign_in', sha256(($1 || n)::bytea), '', ${TIME} from ${NUMBERS}`,
    ages: ['-1 minutes', '1 second'],
  },
  {
    sweep: 'passkey challenges',
    table: 'webauthn_challenges',
    plant: `insert into webauthn_challenges (challenge_hash, purpose, holder, expires_at)
      select sha256(($1 || n)::bytea), 'sign_in', '', ${TIME} from ${NUMBERS}`,
    ages: ['-1 minutes', '1 second'],
  },
  {
    sweep: 'audit',
    table: 'audit_events',
    plant: `insert into audit_events (type, actor_kind, user_id, created_at)
      select 'user.login', 'user', $1 || n, ${TIME} from ${NUMBERS}`,
    ages: ['89 days', '91 days'],
  },
  {
    sweep: 'events',
    table: 'events',
    plant: `${EVENTS} select ${SEQUENCE}, 'user', $1 || n, 'org', 'user.human.imported', 'admin', ${TIME} from ${NUMBERS}`,
    ages: ['399 days', '401 days'],
  },
  {
    sweep: 'admin events',
    table: 'events',
    plant: `${EVENTS} select ${SEQUENCE}, 'user', $1 || n, 'org', 'user.locked', 'admin', ${TIME} from ${NUMBERS}`,
    ages: ['3649 days', '3651 days'],
  },
];

describe('a sweep', () => {
  let db: TestDatabase;
  let pool: Pool;
  let observer: Pool;
  const sweepOf = (name: string) => (SWEEPS[name] as (typeof SWEEPS)[string])(pool, readConfig({}));

  before(async () => {
    db = await testDatabase({ name: 'sweeps' });
    [pool, observer] = [openPool(db.url, { max: 1 }), openPool(db.url, { max: 1 })];
    for (const one of [pool, observer]) one.options.idleTimeoutMillis = 0;
  });
  after(async () => {
    await pool.end();
    await observer.end();
    await db.drop();
  });

  it('has a case here', () => {
    assert.deepEqual(new Set(CASES.map(({ sweep }) => sweep)), new Set(Object.keys(SWEEPS)));
  });

  for (const { sweep, table, plant, ages } of CASES) {
    it(`of ${sweep} removes old rows of ${table}, ${SWEEP_ROWS} at once, and reads no others`, async () => {
      await observer.query(EMPTY);
      await observer.query('update retention_cursors set after = 0');
      await observer.query(plant, ['kept ', KEPT, ages[0]]);
      await observer.query(plant, ['old ', EXPIRED, ages[1]]);
      const left = async () => (await observer.query(`select count(*)::int as n from ${table}`)).rows[0].n - KEPT;
      const read = await rowsRead(pool, observer, () => sweepOf(sweep));
      assert.equal(await left(), EXPIRED - SWEEP_ROWS);
      assert.deepEqual(
        Object.entries(read).filter(([, n]) => n >= KEPT),
        [],
        JSON.stringify(read),
      );
      assert.equal(await sweepOf(sweep), EXPIRED - SWEEP_ROWS);
      assert.equal(await sweepOf(sweep), 0);
      assert.equal(await left(), 0);
    });
  }

  it('waits for nobody, and takes what somebody else has locked in a later round', async () => {
    const [one] = CASES.filter(({ sweep }) => sweep === 'mails');
    await observer.query(EMPTY);
    await observer.query((one as Case).plant, ['locked ', 3, '32 days']);
    await observer.query('begin');
    await observer.query(`select from mail_outbox where user_id = 'locked 1' for update`);
    await observer.query(`select from codes where user_id = 'locked 2' for update`);
    assert.equal(await sweepOf('mails'), 2);
    await observer.query('commit');
    assert.equal(await sweepOf('mails'), 1);
    assert.deepEqual((await observer.query('select user_id from codes')).rows, [{ user_id: 'locked 2' }]);
  });

  it('of events keeps what administrators did, and passes it once', async () => {
    await observer.query(EMPTY);
    await observer.query('update retention_cursors set after = 0');
    const add = (type: string, editor: string, payload: string | null = null, age = '500 days') =>
      observer.query(
        `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload, created_at)
         values ('user', 'ann', 'org', $1, $2, $3, now() - $4::interval)`,
        [type, editor, payload, age],
      );
    await add('user.human.imported', 'admin');
    await add('user.human.password.changed', 'ann');
    await add('user.removed', 'admin', '{"importId":"7"}');
    await add('user.removed', 'admin');
    await add('user.locked', 'system');
    await add('user.human.updated', 'admin', null, '1 day');
    await add('user.human.imported', 'admin');
    const left = async () =>
      (await observer.query('select type from events order by sequence')).rows.map(({ type }) => type);
    assert.deepEqual([await sweepOf('events'), await sweepOf('events')], [5, 0]);
    // The last one came with a sequence after a younger one, which no transaction of a year does.
    const kept = ['user.removed', 'user.locked', 'user.human.updated', 'user.human.imported'];
    assert.deepEqual(await left(), kept);
    assert.equal(await sweepOf('admin events'), 0);
    const forEver = { ...readConfig({}), EVENT_RETENTION_DAYS: 0 };
    await observer.query('update retention_cursors set after = 0');
    assert.equal(await (SWEEPS.events as (typeof SWEEPS)[string])(pool, forEver), 0);
    assert.deepEqual(await left(), kept);
  });
});
