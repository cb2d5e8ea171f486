import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AUDIT_TYPES } from '../../src/contract/events.ts';
import { PERMISSIONS } from '../../src/contract/permissions.ts';
import { LARGE_BODY } from '../../src/platform/http/parse.ts';
import type { Json } from './judge.ts';
import { type Judged, openJudged } from './judged.ts';
import { examplesOf, fill, openWorld, strangerToken, takesOrgHeader, type World } from './world.ts';

const MAX_IMPORT_BYTES = 2 ** 20;
/** Larger than any operation accepts. */
const TOO_LARGE = Buffer.alloc(LARGE_BODY.bytes + 1, ' ');
describe('the responses of every operation', () => {
  let world: World;
  let stranger: string;
  let judged: Judged;

  before(async () => {
    world = await openWorld({ workers: true, env: { MAX_IMPORT_BYTES: String(MAX_IMPORT_BYTES) } });
    stranger = await strangerToken(world.api);
    judged = openJudged(world);
  });
  after(() => world.stop());

  it('match the document when each is called with its examples', async () => {
    await judged.callAll();
  });

  it('leave audit events of listed types only', async () => {
    const { rows } = await world.api.deps.pool.query('select distinct type from audit_events');
    const unlisted = rows.map(({ type }) => type).filter((type) => !(type in AUDIT_TYPES));
    assert.ok(rows.length > 30, `${rows.length} types`);
    assert.deepEqual(unlisted, [], 'add them to src/contract/events.ts');
  });

  it('are 401 without a token and with an invalid one', async () => {
    for (const operation of judged.ofApi()) {
      const [[, body]] = examplesOf(operation) as [[string, Json]];
      if (!PERMISSIONS[operation.id as keyof typeof PERMISSIONS]?.code) {
        assert.equal((await judged.call(operation, judged.requestOf(operation, body), null)).status, 401, operation.id);
      }
      assert.equal(
        (await judged.call(operation, judged.requestOf(operation, body), 'no-such-token')).status,
        401,
        operation.id,
      );
    }
  });

  it('are 403 to a caller without a role, whether the resource exists or not', async () => {
    const missing = Object.fromEntries(Object.keys(judged.known).map((name) => [name, '999999']));
    // Every caller may read itself.
    for (const operation of judged.ofApi().filter(({ id }) => id !== 'getMe' && id !== 'getMyUser')) {
      const [[, body]] = examplesOf(operation) as [[string, Json]];
      for (const values of [judged.known, missing]) {
        const answer = await judged.call(operation, judged.requestOf(operation, body, values), stranger);
        assert.equal(answer.status, 403, `${operation.id} ${JSON.stringify(answer.body)}`);
      }
    }
  });

  it('are 404 to an IAM_OWNER if the resource is missing, and 400 if the id is invalid', async () => {
    const missing = Object.fromEntries(Object.keys(judged.known).map((name) => [name, '999999']));
    const odd = Object.fromEntries(Object.keys(judged.known).map((name) => [name, '\u0001']));
    for (const operation of judged.ofApi().filter(({ path }) => path.includes('{'))) {
      const [[, body]] = examplesOf(operation) as [[string, Json]];
      const answer = await judged.call(operation, judged.requestOf(operation, body, missing));
      assert.ok([400, 404].includes(answer.status), `${operation.id} ${answer.status}`);
      const refused = await judged.call(operation, judged.requestOf(operation, body, odd));
      assert.ok([400, 404].includes(refused.status), `${operation.id} ${refused.status}`);
      const path = operation.path.replace(/\{\w+\}/, '%E0%A4%A');
      assert.equal((await judged.call(operation, { ...judged.requestOf(operation, body), path })).status, 400);
    }
  });

  it('are 400, 413 or 415 for an invalid body', async () => {
    // The provider that is known is of an organization.
    const isKnown = ({ id }: { id: string }) => id !== 'changeInstanceIdp';
    for (const operation of judged.ofApi().filter((one) => one.object.requestBody && isKnown(one))) {
      const sent = judged.requestOf(operation, undefined);
      for (const body of ['[]', '{', '"text"', Buffer.from([0x7b, 0xff, 0x7d])]) {
        assert.equal((await judged.call(operation, { ...sent, body })).status, 400, `${operation.id} ${body}`);
      }
      const asText = { ...sent, body: '{}', headers: { ...sent.headers, 'content-type': 'text/plain' } };
      assert.equal((await judged.call(operation, asText)).status, 415, operation.id);
    }
    // One operation per way of reading bodies, as sending this much takes time.
    for (const id of ['setUpOrg', 'setPassword', 'createHumanUser', 'importUsers']) {
      const sent = judged.requestOf(world.operation(id), TOO_LARGE);
      assert.equal((await judged.call(world.operation(id), sent)).status, 413, id);
    }
    const compressed = judged.requestOf(world.operation('importUsers'), gzipSync(TOO_LARGE));
    compressed.headers = { ...compressed.headers, 'content-encoding': 'gzip' };
    assert.equal((await judged.call(world.operation('importUsers'), compressed)).status, 413);
  });

  it('are 405 with Allow for an undocumented method, and 404 for an unknown path', async () => {
    for (const path of Object.keys(world.document.paths)) {
      const method = 'patch' in (world.document.paths[path] ?? {}) ? 'PUT' : 'PATCH';
      const answer = await judged.call({ path }, { method, path: fill(path, judged.known) });
      assert.equal(answer.status, 405, path);
    }
    assert.equal(
      (await judged.call({ path: '/admin/v1/nothing' }, { method: 'GET', path: '/admin/v1/nothing' })).status,
      404,
    );
    assert.equal((await judged.call({ path: '/nothing' }, { method: 'GET', path: '/nothing' })).status, 404);
  });

  it('are 409 if the resource already exists', async () => {
    const taking = judged
      .ofApi()
      .filter(
        ({ id, object }) =>
          object.responses[409] &&
          !['importUsers', 'updateHumanUser', 'fixImportItem', 'sendImportFile'].includes(id) &&
          !['changeIdp', 'changeInstanceIdp'].includes(id),
      );
    assert.ok(taking.length >= 7);
    for (const operation of taking) {
      const [, body] = examplesOf(operation).at(-1) as [string, Json];
      await judged.call(operation, judged.requestOf(operation, body));
      assert.equal((await judged.call(operation, judged.requestOf(operation, body))).status, 409, operation.id);
    }
  });

  it('are 404 for an organization that does not exist', async () => {
    const missing = { 'x-service-orgid': 'no-such-organization' };
    for (const operation of judged.ofApi().filter(takesOrgHeader)) {
      const [[, body]] = examplesOf(operation) as [[string, Json]];
      const { organization: _, ...withoutOrg } = body ?? {};
      const sent = { ...judged.requestOf(operation, body && withoutOrg), headers: missing };
      assert.equal((await judged.call(operation, sent)).status, 404, operation.id);
    }
  });

  it('are 400 for an unknown query parameter', async () => {
    for (const id of ['listImports', 'listImportItems', 'importUsers']) {
      const operation = world.operation(id);
      const sent = judged.requestOf(operation, id === 'importUsers' ? {} : undefined);
      assert.equal((await judged.call(operation, { ...sent, path: `${sent.path}?colour=red` })).status, 400, id);
    }
  });

  it('list the methods of a path for OPTIONS', async () => {
    for (const path of new Set(judged.ofApi().map((operation) => operation.path))) {
      const { status, headers } = await world.api.call('OPTIONS', fill(path, judged.known));
      const documented = world.judge.operations.filter((o) => o.path === path).map(({ method }) => method);
      const allowed = headers.get('allow')?.split(', ') ?? [];
      assert.ok(status < 300, path);
      assert.deepEqual(
        documented.filter((method) => !allowed.includes(method)),
        [],
        path,
      );
    }
  });

  it('were exercised with this many statuses', (t) => {
    const kinds = [...judged.exercised.values()].reduce((sum, statuses) => sum + statuses.size, 0);
    t.diagnostic(`${judged.exercised.size} operations, ${kinds} operations × statuses`);
    for (const [id, statuses] of judged.exercised) t.diagnostic(`${id}: ${[...statuses].sort().join(' ')}`);
    assert.ok(kinds > 4 * judged.exercised.size);
  });
});
