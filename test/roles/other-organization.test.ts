/**
 * Insecure direct object references: as the owner of one organization, calls every operation that needs a token on what
 * belongs to another one.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type Answer, errorId } from '../support/api.ts';
import { type Request, requestTo } from './requests.ts';
import { readTable } from './table.ts';
import { openWorld, PASSWORD, type Place, type World } from './world.ts';

/** Operations that name no target: they act on what the caller may see. */
const WITHOUT_TARGET: ReadonlySet<string> = new Set([
  'GET /management/v1/me',
  'GET /auth/v1/users/me',
  'POST /v2beta/users',
  'GET /admin/v1/imports',
]);
const HEADERS = ['x-service-orgid', 'x-zitadel-orgid'] as const;

let world: World;
let own: Place;
let other: Place;
before(async () => {
  world = await openWorld();
  [own, other] = [await world.placeOf('own'), await world.placeOf('other')];
});
after(() => world.api.stop());

/** As the owner of `own`. */
function call(
  operation: string,
  { params = {}, body, headers: own = {} }: Partial<Request>,
  headers: Record<string, string> = {},
) {
  const [method = '', pattern = ''] = operation.split(' ');
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return world.api.call(method, path, body, {
    token: world.tokens.get('O') as string,
    headers: { ...own, ...headers },
  });
}

function tells({ body }: Answer): boolean {
  return JSON.stringify(body ?? '').includes(other.orgId);
}

async function lastEvent(): Promise<string> {
  return (await world.api.deps.pool.query('select max(sequence) as last from events')).rows[0].last;
}

test('the owner of an organization reaches nothing of another one, by id, body or header', async () => {
  const operations = readTable().filter(({ operation }) => !operation.endsWith(')'));
  const targeted = operations.map(({ operation }) => operation).filter((operation) => !WITHOUT_TARGET.has(operation));
  const requests = await Promise.all(targeted.map((operation) => requestTo(operation, world, other)));
  const before = await lastEvent();
  const wrong = await Promise.all(
    targeted.map(async (operation, i) => {
      const answer = await call(operation, requests[i] as Request, { [HEADERS[i % 2] as string]: other.orgId });
      const refused = operation === 'POST /v2beta/sessions' ? [400] : [403, 404];
      return refused.includes(answer.status) && !tells(answer) ? [] : [`${operation}: ${answer.status}`];
    }),
  );
  assert.deepEqual(wrong.flat(), []);
  assert.equal(await lastEvent(), before, 'a refused call changes nothing');
});

test('searches and lists show nothing of another organization', async () => {
  const userId = await world.human(other);
  for (const operation of WITHOUT_TARGET) {
    const request = await requestTo(operation, world, other);
    for (const name of HEADERS) {
      const answer = await call(operation, request, { [name]: other.orgId });
      assert(!tells(answer) && !JSON.stringify(answer.body).includes(userId), `${operation}: ${answer.status}`);
    }
  }
  for (const query of [
    { inUserIdsQuery: { userIds: [userId] } },
    { userNameQuery: { userName: userId } },
    { loginNameQuery: { loginName: userId } },
  ]) {
    const { status, body } = await call('POST /v2beta/users', { body: { queries: [query] } });
    assert.deepEqual([status, body.details.totalResult, body.result], [200, '0', []]);
  }
  const events = await call('POST /admin/v1/events/_search', { body: { userId } });
  assert.deepEqual([events.status, events.body.result], [200, []]);
});

test('an own resource in the path opens no part of a foreign one', async () => {
  const [mine, theirs] = [await world.machine(own), await world.machine(other)];
  const tokenId = await world.patOf(theirs);
  const keyId = await world.keyOf(theirs);
  const before = await lastEvent();
  for (const [operation, params] of [
    ['DELETE /management/v1/users/:userId/pats/:tokenId', { userId: mine, tokenId }],
    ['DELETE /management/v1/users/:userId/keys/:keyId', { userId: mine, keyId }],
    ['DELETE /management/v1/orgs/me/members/:userId', { userId: theirs }],
  ] as const) {
    const answer = await call(operation, { params });
    assert([403, 404].includes(answer.status), `${operation}: ${answer.status}`);
  }
  assert.equal(await lastEvent(), before);
});

test('a session of another organization tells nothing, not even whether the password is right', async () => {
  const userId = await world.human(other);
  const ids = new Set<string>();
  for (const password of [PASSWORD, 'wrong horse battery']) {
    const body = { checks: { user: { userId }, password: { password } } };
    ids.add(errorId(await call('POST /v2beta/sessions', { body })) as string);
  }
  assert.equal(ids.size, 1);
});
