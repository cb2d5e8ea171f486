/** `muster pull` looks at whole columns before it sends the first user, as `muster import` does for a file. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { runMuster } from '../../support/processes/muster.ts';
import { type Service, startService } from '../../support/processes/service.ts';
import { ROOT_DN, ROOT_PASSWORD, SUFFIX, startSlapd } from '../../support/pull/servers.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

interface Stage {
  /** Runs `muster pull` on the users of a system. */
  pull(...more: string[]): ReturnType<typeof runMuster>;
  /** The users of the organization: state, and whether they have a password. */
  users(): Promise<Record<string, string>>;
}

async function stageOf(t: TestContext, service: Service, system: string[], secret: string): Promise<Stage> {
  const { orgId, ownerToken } = await service.newOrg();
  const folder = await mkdtemp(join(tmpdir(), 'muster-pull-'));
  t.after(() => rm(folder, { recursive: true }));
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken, PULL_PASSWORD: secret };
  const where = ['--org', orgId, '--id-prefix', `${orgId}-`, '--state', join(folder, 'state.json')];
  return {
    pull: (...more) => runMuster(['pull', ...system, ...where, '--batch', '1', ...more], { env }),
    async users() {
      const { rows } = await service.pool.query(
        'select user_name, family_name, state, password_hash is not null as has from users where org_id = $1 and family_name is not null',
        [orgId],
      );
      return Object.fromEntries(
        rows.map(({ user_name, family_name, state, has }) => [user_name, `${family_name} ${state} ${has}`]),
      );
    },
  };
}

/** A table of users in PostgreSQL; pages have two rows, so what is wrong is on the last of them. */
async function table(t: TestContext, service: Service, columns: string, rows: string[]): Promise<Stage> {
  const { url, pool, drop } = await testDatabase(t);
  t.after(drop);
  await pool.query(`create table people (id int primary key, email text, first_name text, last_name text, ${columns});
    insert into people values ${rows.map((row, i) => `(${i}, 'p${i}@old.example', 'P', ${row})`).join(', ')}`);
  const address = new URL(url);
  const password = decodeURIComponent(address.password);
  address.password = '';
  const query = ['--query', 'select * from people', '--page-size', '2'];
  return stageOf(t, service, ['sql', '--database', address.href, ...query], password);
}

test('a pull stops before the first user where a column says that something is wrong', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  const refused = async (stage: Stage, more: string[], what: RegExp) => {
    const { code, stderr } = await stage.pull(...more);
    assert.equal(code, 2, stderr);
    assert.match(stderr, what);
    assert.deepEqual(await stage.users(), {});
  };

  await t.test('masks, and one password for all', async (t) => {
    const masked = await table(t, service, 'secret text', [
      "'A', 'Marble Owl 7'",
      "'B', 'Silver Fox 8'",
      "'C', '****'",
    ]);
    await refused(
      masked,
      ['--map', 'password=secret'],
      /--map password=secret: 1 of 3 values are a mask such as \*\*\*\*/,
    );
    const same = await table(t, service, 'secret text', [
      "'A', 'welcome 1234'",
      "'B', 'welcome 1234'",
      "'C', 'welcome 1234'",
    ]);
    await refused(same, ['--map', 'password=secret'], /all 3 users have the same password/);
    const { code, stderr } = await same.pull('--map', 'initialPassword=secret');
    assert.equal(code, 0, stderr);
    assert.equal(Object.keys(await same.users()).length, 3);
  });

  await t.test('a column that may be a state, and cannot be understood', async (t) => {
    const rows = ["'A', 'active'", "'B', 'active'", "'C', 'gone fishing'"];
    const stage = await table(t, service, 'club_status text', rows);
    await refused(
      stage,
      [],
      /club_status: may say whether a user may sign in.*--map metadata\.club_status=club_status/,
    );
    const { code, stderr } = await stage.pull('--map', 'metadata.club=club_status');
    assert.equal(code, 0, stderr);
    assert.deepEqual(Object.values(await stage.users()), ['A initial false', 'B initial false', 'C initial false']);
  });

  await t.test('a column that is not there', async (t) => {
    const stage = await table(t, service, 'mail2 text', ["'A', 'a'", "'B', 'b'"]);
    await refused(stage, ['--map', 'nickName=Nick'], /--map nickName=Nick: no record has "Nick"/);
  });

  await t.test('words for null are no values, and regions no states', async (t) => {
    const columns = 'disabled text, state text, city text';
    const rows = ["'NULL', 'N/A', 'Texas', 'X'", "'NULL', 'N/A', 'Ohio', 'Y'", "'Null', 'yes', 'Iowa', 'Z'"];
    const stage = await table(t, service, columns, rows);
    const { code, stderr } = await stage.pull();
    assert.equal(code, 0, stderr);
    assert.deepEqual(await stage.users(), {
      'p0@old.example': 'P initial false',
      'p1@old.example': 'P initial false',
      'p2@old.example': 'Null inactive false',
    });
  });
});

const person = (n: number, more: string) => `dn: uid=u${n},ou=people,${SUFFIX}
objectClass: inetOrgPerson
uid: u${n}
cn: Ann ${n}
sn: Archer
mail: u${n}@shop.example
${more}
`;

async function directory(t: TestContext, service: Service, people: string[]): Promise<Stage> {
  const top = [
    `dn: ${SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: shop\no: Shop\n`,
    `dn: ou=people,${SUFFIX}\nobjectClass: organizationalUnit\nou: people\n`,
  ];
  const server = await startSlapd([...top, ...people.map((more, i) => person(i, more))].join('\n'));
  t.after(server.stop);
  const where = ['--host', server.url, '--base', SUFFIX, '--bind-dn', ROOT_DN, '--page-size', '2'];
  return stageOf(t, service, ['ldap', ...where], ROOT_PASSWORD);
}

test('a pull from a directory looks at all plain passwords', async (t) => {
  if (!requireOrSkip(t, 'slapd')) return;
  const service = await startService(t, { backend: 'postgres' });
  const same = await directory(t, service, Array(3).fill('userPassword: welcome 1234'));
  const stopped = await same.pull();
  assert.equal(stopped.code, 2, stopped.stderr);
  assert.match(stopped.stderr, /The plain passwords: all 3 users have the same password.*--map password=/);
  assert.deepEqual(await same.users(), {});
  const mapped = await same.pull('--map', 'email=mail');
  assert.equal(mapped.code, 2);
  assert.match(mapped.stderr, /--map email: LDIF .* says itself which column that is/);
  const without = await same.pull('--map', 'password=');
  assert.equal(without.code, 0, without.stderr);
  assert.deepEqual(Object.values(await same.users()), Array(3).fill('Archer initial false'));

  const masked = await directory(
    t,
    service,
    ['Marble Owl 7', 'Silver Fox 8', '{CLEARTEXT}*****'].map((one) => `userPassword: ${one}`),
  );
  const { code, stderr } = await masked.pull();
  assert.equal(code, 2, stderr);
  assert.match(stderr, /The plain passwords: 1 of 3 values are a mask/);
  assert.deepEqual(await masked.users(), {});

  const titled = await directory(t, service, ['employeeType: staff', 'employeeType: staff', 'title: banned']);
  assert.equal((await titled.pull()).code, 0);
  assert.deepEqual(await titled.users(), {
    u0: 'Archer initial false',
    u1: 'Archer initial false',
    u2: 'Archer inactive false',
  });
});
