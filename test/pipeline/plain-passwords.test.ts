/**
 * Plain passwords and secrets of second factors in imports: encrypted on receipt, hashed or moved by the workers, and
 * never stored in clear text.
 */
import assert from 'node:assert/strict';
import { Redis } from 'ioredis';
import type { Pool } from '../../src/platform/db/pool.ts';
import { errorId } from '../support/answers.ts';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { entry, HASH } from '../support/imports/imports.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { urlsIn } from '../support/smtp.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { waitFor } from '../support/wait.ts';

/** Long and odd enough not to occur anywhere by chance. */
const SHORT = 'Xq7-plain-Ünïcode-z';
const LONG = `Lw9-${'long-plain-'.repeat(10)}end`;
const WRONG_PLACE = 'Kv3-not-a-hash-at-all';
/** Base32, as authenticator apps use it. */
const FACTOR = 'PLAINSECRETOFTHEAUTHENTICATORAPP';
const PRIVATE = [SHORT, LONG, WRONG_PLACE, FACTOR, FACTOR.toLowerCase()];

const GOOD = [
  entry('short', { password: SHORT, hashedPassword: undefined }),
  entry('long', { password: LONG, hashedPassword: undefined, email: { email: 'long@example.com' } }),
];
const WITH_FACTOR = entry('factor', { otpCode: FACTOR.toLowerCase() });
const BAD = [
  entry('both', { password: SHORT }),
  entry('bad-email', { password: SHORT, hashedPassword: undefined, email: { email: SHORT } }),
  entry('too-long', { password: LONG.repeat(2), hashedPassword: undefined }),
  entry('no-text', { password: { value: SHORT }, hashedPassword: undefined }),
  entry('no-hash', { hashedPassword: { value: WRONG_PLACE } }),
  entry('no-factor', { otpCode: `${FACTOR}!` }),
];
const UNKNOWN_FIELDS = entry('unknown', { passwort: SHORT, hashedPassword: { value: HASH, plain: LONG } });

onEachBackend('plain passwords', async (t, backend) => {
  // Without an import worker, everything stays in place for the checks below.
  const service = await startService(t, { backend, workers: 0, env: { LOG_LEVEL: 'trace' } });
  const dispatcher = await service.startWorker({ WORKER_ROLES: 'dispatch' });
  const org = await service.newOrg();
  const body = bulk(org.orgId, [...GOOD, ...BAD, UNKNOWN_FIELDS, WITH_FACTOR]);
  const { importId } = (await must(service.importBody(body))).body;

  await t.test('are stored encrypted until a worker has hashed them', async () => {
    await waitFor(async () => (await service.depth()) === GOOD.length + 2, { what: 'the jobs' });
    const { rows } = await service.pool.query(
      `select user_name, password_hash, password_sealed from import_items
       where import_id = $1 and state = 'pending' and password_hash is null order by ordinal`,
      [importId],
    );
    assert.deepEqual(
      rows.map((r) => r.user_name),
      ['short', 'long'],
    );
    for (const row of rows) assert.ok(row.password_sealed);
    assert.deepEqual(await sealedFactors(service, importId), ['factor']);
    await assertNowhere(service);
  });

  await t.test('are not part of a job, and neither are names, addresses or hashes', async () => {
    const jobs = await queueContents(service);
    assert.match(jobs, new RegExp(`i${importId}-0-0`));
    for (const text of ['example.com', 'short', HASH, HASH.slice(7)]) assert.ok(!jobs.includes(text), text);
  });

  await t.test('become hashes, and the encrypted form is erased', async () => {
    dispatcher.kill('SIGTERM');
    await dispatcher.exited;
    await service.startWorker();
    await service.waitForEnd(importId);
    const { rows } = await service.pool.query('select id, password_hash from users where import_id = $1', [importId]);
    const hashes = new Map(rows.map((r) => [r.id, r.password_hash]));
    assert.match(hashes.get('id-short'), /^\$2[aby]\$/);
    // Contract section 5: bcrypt sees 72 bytes only.
    assert.match(hashes.get('id-long'), /^\$argon2id\$/);
    const sealed = await service.pool.query('select from import_items where password_sealed is not null');
    assert.equal(sealed.rowCount, 0);
    assert.deepEqual(await sealedFactors(service, importId), []);
  });

  await t.test('let their users log in', async () => {
    for (const [loginName, password, status] of [
      ['short', SHORT, 201],
      ['long', LONG, 201],
      ['long', LONG.slice(0, 80), 400],
    ] as const) {
      assert.equal((await service.login(loginName, password)).status, status);
    }
  });

  await t.test('are followed by a second factor where one was imported, and each code works once', async () => {
    assert.equal(errorId(await service.login('factor', OLD_PASSWORD)), 'SESSION-TOTP-REQUIRED');
    const code = codeAt(FACTOR);
    assert.equal((await loginWithCode(service, 'factor', code)).status, 201);
    assert.equal(errorId(await loginWithCode(service, 'factor', code)), 'SESSION-TOTP');
    const user = { ...WITH_FACTOR.user, userName: 'single-factor' };
    assert.equal((await single(service, user, org.orgId)).status, 200);
    assert.equal(errorId(await loginWithCode(service, 'single-factor', wrongCode(FACTOR))), 'SESSION-TOTP');
    assert.equal((await loginWithCode(service, 'single-factor', codeAt(FACTOR))).status, 201);
  });

  await t.test('are not part of any answer, not even for failed users', async () => {
    const answers = [
      await service.call('GET', `/admin/v1/imports/${importId}`),
      await service.call('GET', `/admin/v1/imports/${importId}/items`),
      await service.call('GET', `/admin/v1/imports/${importId}/events`),
      await service.call('GET', '/admin/v1/imports'),
      await service.call('GET', '/v2beta/users/id-short'),
      await single(service, { ...GOOD[0]?.user, userName: SHORT.slice(0, 3), password: LONG.repeat(2) }),
      await single(service, { ...GOOD[0]?.user, otpCode: `${FACTOR}1` }, org.orgId),
      await service.importBody(`{"dataOrgs":{"orgs":[{"orgId":"${org.orgId}","humanUsers":[{"password":"${SHORT}"},`),
    ];
    assert.equal(answers[0]?.body.counts.failed, BAD.length);
    for (const { body: given } of answers) assertPrivate(typeof given === 'string' ? given : JSON.stringify(given));
  });

  await t.test('are not part of any answer of a single import', async () => {
    const user = { ...GOOD[0]?.user, userName: 'single', password: SHORT };
    assert.equal((await single(service, user, org.orgId)).status, 200);
    assert.equal((await service.login('single', SHORT)).status, 201);
  });

  await t.test('are in no table, no queue and no log', async () => {
    await waitFor(() => service.smtp.mails.length === 1, { what: 'the mail' });
    await assertNowhere(service);
    const logs = service.processes.map((p) => p.output()).join('\n');
    assert.match(logs, /"path":"\/admin\/v1\/import"/);
    assertPrivate(logs);
    const text = (await service.smtp.mails[0]?.parsed())?.text ?? '';
    assertPrivate(text);
    const code = urlsIn(text)[0]?.searchParams.get('code') as string;
    for (const secret of [HASH.slice(7), service.token, org.ownerToken, code]) assert.ok(!logs.includes(secret));
  });
});

function single(service: Service, user: unknown, orgId?: string) {
  return service.call('POST', '/management/v1/users/human/_import', user, { orgId });
}

function loginWithCode(service: Service, loginName: string, code: string) {
  const checks = { user: { loginName }, password: { password: OLD_PASSWORD }, totp: { code } };
  return service.call('POST', '/v2beta/sessions', { checks });
}

/** Names of the items that hold the secret of a second factor. */
async function sealedFactors(service: Service, importId: string): Promise<string[]> {
  const { rows } = await service.pool.query<{ user_name: string }>(
    'select user_name from import_items where import_id = $1 and totp_sealed is not null',
    [importId],
  );
  return rows.map((r) => r.user_name);
}

async function assertNowhere(service: Service): Promise<void> {
  assertPrivate(await tableContents(service.pool));
  assertPrivate(await queueContents(service));
}

/** @throws AssertionError when the text contains a plain password, in clear, as JSON, in hexadecimal or in base64 */
function assertPrivate(text: string): void {
  for (const secret of PRIVATE) {
    const bytes = Buffer.from(secret);
    const ascii = secret.replace(/[^\x20-\x7e]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);
    for (const form of [secret, ascii, bytes.toString('hex'), bytes.toString('base64').slice(0, 20)]) {
      const at = text.indexOf(form);
      assert.equal(at, -1, `${form} in: …${text.slice(Math.max(0, at - 200), at + 50)}…`);
    }
  }
}

/** Every row of every table of all schemas as text; bytea in hexadecimal. */
async function tableContents(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const contents: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`);
    contents.push(...rows.map((r) => r.row));
  }
  assert.ok(contents.some((row) => row.includes('import.accepted')));
  return contents.join('\n');
}

/** Everything the queue stores, including the names of keys. */
async function queueContents(service: Service): Promise<string> {
  if (service.backend === 'postgres') {
    const { rows } = await service.pool.query(`select tablename from pg_tables where schemaname = 'bullmq'`);
    const all = await Promise.all(rows.map((r) => service.pool.query(`select t::text from bullmq.${r.tablename} t`)));
    return JSON.stringify(all.map((a) => a.rows));
  }
  const redis = new Redis(service.redisUrl as string);
  const contents: unknown[] = [];
  for await (const keys of redis.scanStream({ match: `${service.queuePrefix}*` })) {
    for (const key of keys as string[]) contents.push(key, await contentOf(redis, key));
  }
  redis.disconnect();
  return JSON.stringify(contents);
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  if (type === 'string') return redis.get(key);
  if (type === 'hash') return redis.hgetall(key);
  if (type === 'list') return redis.lrange(key, 0, -1);
  if (type === 'set') return redis.smembers(key);
  if (type === 'zset') return redis.zrange(key, '0', '-1');
  if (type === 'stream') return redis.xrange(key, '-', '+');
  throw new Error(`a key of type ${type}`);
}
