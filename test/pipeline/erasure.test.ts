/**
 * A person leaves traces in everything that the service does; then they are erased, and every table and all of Redis are
 * searched for any of their texts.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { unique } from '../support/answers.ts';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { type Entry, entry } from '../support/imports/imports.ts';
import { must, onEachBackend, type Service, startService } from '../support/processes/service.ts';
import { waitFor } from '../support/wait.ts';

/** Every text of a person contains it, in small letters, as some are stored so. */
const MARK = `zq${randomBytes(8).toString('hex')}`;
const PHONE = `+4179${Math.floor(1e6 + Math.random() * 9e6)}`;
const ID = `auth0|${MARK}`;
const NAME = `Ünal-${MARK}`;
const ADDRESS = `mail-${MARK}@example.com`;

function person(userId?: string): Entry {
  const { user } = entry(NAME, {
    profile: { firstName: `F${MARK}`, lastName: `L${MARK}`, nickName: `N${MARK}`, displayName: `D${MARK}` },
    email: { email: ADDRESS, isEmailVerified: false },
    phone: { phone: PHONE, isPhoneVerified: true },
    metadata: [{ key: `k${MARK}`, value: Buffer.from(`v${MARK}`).toString('base64') }],
    idps: [{ configId: 'google', externalUserId: `x${MARK}`, displayName: `g${MARK}` }],
    otpCode: 'JBSWY3DPEHPK3PXP',
  });
  return { userId, user } as Entry;
}

/** Names of tables that have a text of the person in any column; bytes as text, as hex and as base64 too. */
async function tablesWith(pool: Service['pool'], texts: string[]): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  assert.ok(rows.length > 40);
  const forms = texts.flatMap((text) => {
    const bytes = Buffer.from(text);
    return [text, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '').slice(0, -1)];
  });
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await pool.query(
      `select row_to_json(t)::text as row from ${name} t
       where exists (select from unnest($1::text[]) f where strpos(lower(row_to_json(t)::text), lower(f)) > 0)`,
      [forms],
    );
    for (const { row } of hits) found.push(`${name}: ${row}`);
  }
  return found;
}

async function keysWith({ redisUrl, queuePrefix }: Service, texts: string[]): Promise<string[]> {
  if (!redisUrl) return [];
  const redis = new Redis(redisUrl);
  try {
    const keys = await redis.keys(`${queuePrefix}*`);
    assert.ok(keys.length > 0);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    return keys.filter((key, i) => texts.some((text) => `${key}${dumps[i]?.toString('latin1')}`.includes(text)));
  } finally {
    redis.disconnect();
  }
}

async function erase(service: Service, userId: string, options = {}): Promise<string> {
  const path = `/v2beta/users/${encodeURIComponent(userId)}/erase`;
  const { erasedId } = (await must(service.call('POST', path, {}, options))).body;
  assert.match(erasedId, /^erased:[\w-]{22}$/);
  await waitFor(
    async () =>
      (await service.pool.query(`select from audit_events where type = 'user.erased' and user_id = $1`, [erasedId]))
        .rowCount,
    { what: 'the erasure', timeoutMs: 120_000 },
  );
  return erasedId;
}

onEachBackend('an erased person', async (t, backend) => {
  const service = await startService(t, { backend, workers: 0 });
  const { orgId, ownerToken } = await service.newOrg();
  const other = await service.newOrg();
  const bystander = `by-${unique('x')}`;

  // Before they are imported: a failed sign-in, in other letters, and a sign-in that somebody began.
  for (const name of [NAME.toUpperCase(), ADDRESS, ID])
    assert.equal((await service.login(name, 'wrong one')).status, 400);
  await service.login({ userId: ID }, 'wrong one');
  const client = (
    await must(
      service.call('POST', '/admin/v1/clients', {
        name: 'App',
        redirectUris: ['https://app.example.com/cb'],
        grantTypes: ['authorization_code'],
        authMethod: 'client_secret_basic',
      }),
    )
  ).body;
  const query = new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: 'https://app.example.com/cb',
    response_type: 'code',
    scope: 'openid',
    login_hint: ADDRESS,
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
  });
  const begun = await fetch(`${service.url}/oauth/v2/authorize?${query}`, { redirect: 'manual' });
  assert.match(begun.headers.get('location') ?? '', /\/ui\/login\//);

  // An import that is cancelled while they are pending, one that fails for them, dry runs, updates, and theirs.
  const cancelled = (await must(service.importBody(bulk(orgId, [person(ID), entry(bystander)])))).body.importId;
  await must(service.call('POST', `/admin/v1/imports/${cancelled}/_cancel`, {}));
  await service.startWorker();
  const dry = (await must(service.importBody(bulk(orgId, [person()]), { query: '?dryRun=true' }))).body.importId;
  const first = await service.imported(bulk(orgId, [person(ID)]));
  assert.equal(first.counts.succeeded, 1);
  const failing = await service.imported(bulk(orgId, [person(ID), person()]));
  assert.equal(failing.counts.failed, 2);
  await service.waitForEnd(dry);
  const updating = (await must(service.importBody(bulk(orgId, [person(ID)]), { query: '?onExisting=update' }))).body;
  await service.waitForEnd(updating.importId);
  const single = { ...person().user, userName: `${NAME}-2` };
  const options = { orgId, headers: { 'idempotency-key': 'once' } };
  const second = (await must(service.call('POST', '/management/v1/users/human/_import', single, options))).body.userId;
  const robot = await service.machine(orgId, ['ORG_OWNER']);
  const own = (await must(service.importBody(bulk(orgId, [entry(`of-${bystander}`)]), { token: robot.token }))).body;
  await service.waitForEnd(own.importId);
  assert.equal(
    (await service.login({ userId: ID }, OLD_PASSWORD, { token: robot.token })).status,
    400,
    'a second factor',
  );

  const texts = [MARK, PHONE, PHONE.slice(1), second];
  assert.ok((await tablesWith(service.pool, texts)).length > 10, 'the traces are found');
  assert.ok((await tablesWith(service.pool, [robot.userId])).length > 3);

  // Deleted first, and erased later.
  await must(service.call('DELETE', `/v2beta/users/${second}`, undefined, { token: ownerToken }));
  const deletedLater = await erase(service, second, { token: ownerToken });
  const erasedId = await erase(service, ID, { token: ownerToken });
  const robotId = await erase(service, robot.userId);
  assert.equal(new Set([deletedLater, erasedId, robotId]).size, 3);
  assert.deepEqual(await tablesWith(service.pool, [...texts, robot.userId]), []);
  assert.deepEqual(await keysWith(service, [MARK, robot.userId]), []);

  // What is left: the item, its counts and the history, of nobody.
  const items = async (importId: string) =>
    (await must(service.call('GET', `/admin/v1/imports/${importId}/items`))).body.items;
  const [item] = await items(first.importId);
  assert.deepEqual([item.userId, item.userName, item.state], [erasedId, '', 'ITEM_STATE_SUCCEEDED']);
  assert.deepEqual(
    (await items(failing.importId)).map(({ error }: { error: { details: { id: string }[] } }) => error.details[0]?.id),
    ['USER-ERASED', 'USER-ERASED'],
  );
  const events = (await must(service.call('POST', '/admin/v1/events/_search', { userId: erasedId }))).body.result;
  const types = events.map(({ type }: { type: string }) => type);
  assert.ok(types.includes('user.removed') && types.includes('user.erased'), types.join());

  // Nothing brings them back, and others go on.
  await must(service.call('POST', `/admin/v1/imports/${failing.importId}/_retry`, { timeout: '10m' }));
  assert.deepEqual((await service.waitForEnd(failing.importId)).counts.failed, 2);
  await must(service.call('POST', `/admin/v1/imports/${cancelled}/_resume`, { timeout: '10m' }));
  const { counts, state } = await service.waitForEnd(cancelled);
  assert.deepEqual([counts.succeeded, counts.failed, state], [1, 1, 'IMPORT_STATE_COMPLETED_WITH_ERRORS']);
  assert.equal((await service.call('GET', `/v2beta/users/${encodeURIComponent(ID)}`)).status, 404);
  const taken = await service.imported(bulk(other.orgId, [entry(`o-${unique('x')}`), person(ID)]));
  assert.equal(taken.counts.failed, 1, 'nobody else gets the id');
});

onEachBackend('erasure', async (t, backend) => {
  const service = await startService(t, { backend });
  const { orgId } = await service.newOrg();
  const other = await service.newOrg();
  const name = unique('ann');
  const same = (userId: string) => ({ ...entry(name), userId });
  const [ours, theirs] = [unique('ours'), unique('theirs')];
  await service.imported(bulk(orgId, [same(ours)]));
  const kept = await service.imported(bulk(other.orgId, [same(theirs)]));
  const manager = await service.machine(orgId, ['ORG_USER_MANAGER']);
  const path = `/v2beta/users/${ours}/erase`;
  for (const token of [manager.token, other.ownerToken]) {
    assert.equal((await service.call('POST', path, {}, { token })).status, 403);
  }
  assert.equal((await service.call('POST', '/v2beta/users/nobody/erase', {})).status, 404);
  assert.equal((await service.call('POST', '/v2beta/users/nobody/erase', {}, { token: other.ownerToken })).status, 403);
  await erase(service, ours);
  // Another organization's user of the same name stays as they are.
  const { items } = (await must(service.call('GET', `/admin/v1/imports/${kept.importId}/items`))).body;
  assert.deepEqual([items[0].userId, items[0].userName], [theirs, name]);
  // The organization may use the id again, and its new history is not erased.
  const again = await service.imported(bulk(orgId, [same(ours)]));
  assert.equal(again.counts.succeeded, 1);
  const { rows } = await service.pool.query('select type from history where aggregate_id = $1', [ours]);
  assert.deepEqual(rows, [{ type: 'user.human.imported' }]);
});
