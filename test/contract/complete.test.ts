/**
 * What holds for every operation because it is one: it is mounted, its examples are right, its other names answer alike,
 * and it counts as an attempt where it says so. A new operation is tested as soon as it is written.
 */
import assert from 'node:assert/strict';
import test, { after, before, describe, it } from 'node:test';
import express, { Router } from 'express';
import { pino } from 'pino';
import { humanOperations } from '../../src/contract/humans.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import type { Permission } from '../../src/contract/roles.ts';
import { type OrgsOfBody, orgsOfBody, serve, serveRaw } from '../../src/contract/serve.ts';
import { renderErrors } from '../../src/platform/http/errors.ts';
import { listen } from '../../src/platform/http/server.ts';
import { buildApp } from '../../src/start/app.ts';
import { operationOf } from '../roles/expected.ts';
import { type Request, requestTo } from '../roles/requests.ts';
import { type Row, readTable } from '../roles/table.ts';
import { openWorld, type Place, type World } from '../roles/world.ts';
import { type Answer, errorId } from '../support/answers.ts';
import { routesOf } from './routes.ts';

const LIMIT = 2;
/** Rows of operations as they are usually called, without variants. */
const ROWS = readTable().filter(({ operation }) => !operation.endsWith(')'));
const rowsOf = (isMeant: (operation: Operation) => unknown) => ROWS.filter((row) => isMeant(operationOf(row)));

describe('every operation', () => {
  let world: World;
  before(async () => {
    world = await openWorld({ RATE_LIMIT_LOGINS: String(LIMIT), TRUST_PROXY: '1', LOGIN_DELAY_MS: '0' });
  });
  after(() => world.api.stop());

  it('is mounted once, and nothing else is', () => {
    const mounted = routesOf(buildApp(world.api.deps).router).filter((route) =>
      / \/(?:admin|auth|management|v\d)/.test(route),
    );
    assert.deepEqual(mounted.sort(), OPERATIONS.map(({ path }) => path).sort());
  });

  it('answers by its name of /v2 as by that of /v2beta', async () => {
    const callers = [null, world.tokens.get('u') as string, world.api.token];
    for (const row of rowsOf(({ path }) => path.includes(' /v2beta/'))) {
      for (const token of callers) {
        const request = await requestTo(row.operation, world, await world.placeOf('missing'));
        const answers = [await call(row, request, { token }), await call(row, request, { token, by: '/v2/' })];
        const [first, second] = answers.map(({ status, body }) => ({ status, body }));
        assert.deepEqual(second, first, `${row.operation} ${token}`);
      }
      const place = await ownPlace(row);
      const request = await requestTo(row.operation, world, place);
      assert.equal((await call(row, request, { token: place.self?.token, by: '/v2/' })).status, row.may, row.operation);
    }
  });

  it('answers over Connect as by its path, with errors of that protocol', async () => {
    const callers = [null, world.tokens.get('u') as string, world.api.token];
    for (const row of rowsOf(({ rpc }) => rpc)) {
      for (const token of callers) {
        const request = await requestTo(row.operation, world, await world.placeOf('missing'));
        const first = await call(row, request, { token });
        const { status, body } = await call(row, request, { token, by: 'Connect' });
        if (first.status < 300) assert.deepEqual([status, body], [200, first.body], row.operation);
        else assert.deepEqual([status, connectId(body)], [first.status, errorId(first)], `${row.operation} ${token}`);
      }
      const place = await ownPlace(row);
      const request = await requestTo(row.operation, world, place);
      const { status } = await call(row, request, { token: place.self?.token, by: 'Connect' });
      assert.equal(status, row.may < 300 ? 200 : row.may, row.operation);
    }
  });

  it('refuses a call over Connect that lacks an id or is not JSON', async () => {
    const path = '/zitadel.user.v2.UserService/GetUserByID';
    for (const body of [{}, { userId: 7 }, { userId: '' }, '[]']) {
      const answer = await world.api.call('POST', path, body);
      assert.deepEqual(
        [answer.status, connectId(answer.body), answer.body.code],
        [400, 'REQUEST-ID', 'invalid_argument'],
      );
    }
    const asProto = { headers: { 'content-type': 'application/proto' } };
    assert.equal((await world.api.call('POST', path, 'x', asProto)).status, 415);
    assert.equal((await world.api.call('GET', path)).status, 405);
  });

  it('that counts as an attempt is refused after RATE_LIMIT_LOGINS of them', async () => {
    const byConnect = rowsOf(({ tries, rpc }) => tries && rpc).map((row) => ({ row, by: 'Connect' as const }));
    for (const { row, by } of [...rowsOf(({ tries }) => tries).map((row) => ({ row })), ...byConnect] as Tried[]) {
      const place = await world.placeOf(isForSelf(row) ? 'self' : 'own');
      const request = await requestTo(row.operation, world, place);
      const token = place.self?.token ?? world.api.token;
      const ids = await callOften(row, { ...request, body: attempted(row, request) }, { token, by });
      assert.equal(ids.pop(), 'RATE-LIMIT', `${row.operation} ${by}`);
      assert.ok(!ids.includes('RATE-LIMIT'), `${row.operation} ${by}`);
    }
  });

  it('that counts by its body does not count for a manager who sends no secret', async () => {
    for (const row of rowsOf(({ tries }) => tries === 'by-body')) {
      const request = await requestTo(row.operation, world, await world.placeOf('own'));
      const ids = await callOften(row, { ...request, body: untried(request) }, {});
      assert.ok(!ids.includes('RATE-LIMIT'), row.operation);
    }
  });

  interface Tried {
    row: Row;
    by: How['by'];
  }

  /** The error ids of one call more than the limit allows, from an address of its own. */
  async function callOften(row: Row, request: Request, how: How): Promise<(string | undefined)[]> {
    const ids: (string | undefined)[] = [];
    const address = nextAddress();
    for (let i = 0; i <= LIMIT; i++) {
      const answer = await call(row, request, { ...how, address });
      ids.push(how.by === 'Connect' ? connectId(answer.body) : errorId(answer));
    }
    return ids;
  }

  function connectId(body: { details?: { debug: { id: string } }[] }): string | undefined {
    return body.details?.[0]?.debug?.id;
  }

  /** Of an administrator; of the user, where nobody else may. */
  function ownPlace(row: Row): Promise<Place> {
    const { roles, self = false } = operationOf(row).who as Permission;
    return world.placeOf(self && roles.length === 0 ? 'self' : 'own');
  }

  /** Whether users make the call for themselves, and not only programs for them. */
  function isForSelf({ cells }: Row): boolean {
    return cells.self === '.' || cells.self === '0';
  }

  /** What asks for a code, where the usual body tries one. */
  function untried({ body }: Request): unknown {
    return (body as { checks?: object } | undefined)?.checks ? { challenges: { otpEmail: {} } } : body;
  }

  /** What users send who change what they sign in with, or somebody who has their token. */
  function attempted(row: Row, { body }: Request): unknown {
    const { id, tries } = operationOf(row);
    if (tries !== 'by-body' || id === 'updateSession') return body;
    const address = id === 'updateHumanUser' ? { email: { email: 'bea@example.com' } } : {};
    return { ...(body as object), ...address, currentPassword: 'a wrong one' };
  }

  let addresses = 0;
  function nextAddress(): string {
    addresses++;
    return `10.0.${addresses >> 8}.${addresses & 255}`;
  }

  interface How {
    token?: string | null | undefined;
    address?: string;
    /** Another name of the operation. */
    by?: '/v2/' | 'Connect' | undefined;
  }

  function call(row: Row, { params, body, headers }: Request, how: How): Promise<Answer> {
    const { token = world.api.token, address = nextAddress(), by } = how;
    const options = { token, headers: { ...headers, 'x-forwarded-for': address } };
    if (by === 'Connect') {
      return world.api.call('POST', `/${operationOf(row).rpc}`, { ...(body as object), ...params }, options);
    }
    const path = row.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    return world.api.call(row.method, by ? path.replace('/v2beta/', by) : path, body, options);
  }
});

test('an operation whose body tries a code or a password counts as an attempt', () => {
  for (const { id, body, tries } of OPERATIONS) {
    const fields = Object.keys((body?.schema as { shape?: object } | undefined)?.shape ?? {});
    const secrets = fields.filter((name) => ['currentPassword', 'verificationCode', 'code', 'checks'].includes(name));
    if (secrets.length > 0) assert.ok(tries, `${id} takes ${secrets}`);
  }
});

test('every example of a body is accepted', () => {
  for (const { id, body } of OPERATIONS) {
    if (!body) continue;
    for (const [name, example] of Object.entries(body.examples)) {
      const { success, error } = (body.reads ?? body.schema).safeParse(example);
      assert.ok(success, `${id}, ${name}: ${error}`);
    }
  }
});

test('every example of an answer is one, with no field more', () => {
  for (const { id, answers } of OPERATIONS) {
    for (const [status, { schema, example, others = {} }] of Object.entries(answers)) {
      const shown = [...(schema ? [{ schema, example }] : []), ...Object.values(others)];
      for (const { schema, example } of shown) assert.deepEqual(schema.parse(example), example, `${id} ${status}`);
    }
  }
});

test('a handler that has not asked for the organizations of its body cannot answer', async (t) => {
  const { createHumanUser } = humanOperations;
  const details = { sequence: '1', changeDate: '2026-01-31T12:00:00Z', resourceOwner: 'acme' };
  const asks: Record<string, (target: OrgsOfBody) => unknown> = {
    '/nothing': () => undefined,
    '/allow': ({ allow }) => allow('acme'),
    '/orgs': ({ orgIds }) => orgIds,
    '/foreign': ({ allow }) => allow('globex'),
  };
  const app = express();
  app.use((req, res, next) => {
    res.locals.caller = {
      userId: 'ann',
      orgId: 'acme',
      isIamOwner: false,
      orgRoles: new Map([['acme', ['ORG_OWNER']]]),
    };
    res.locals.ask = asks[req.url];
    req.url = '/v2beta/users/human';
    next();
  });
  const [json, raw] = [Router(), Router()];
  serve(json, createHumanUser, orgsOfBody, ({ target, res }) => {
    res.locals.ask(target);
    return { userId: 'bob', details };
  });
  serveRaw(raw, createHumanUser, orgsOfBody, async ({ target, res }) => {
    res.locals.ask(target);
    res.write('bob');
    res.end();
  });
  app.use((req, res, next) => (req.get('x-raw') ? raw : json)(req, res, next));
  app.use(renderErrors(pino({ level: 'silent' })));
  const { port, stop } = await opened(app);
  t.after(stop);
  const body = JSON.stringify(createHumanUser.body.examples.minimal);
  for (const headers of [{}, { 'x-raw': 'yes' }]) {
    const statuses: Record<string, number> = {};
    for (const path of Object.keys(asks)) {
      const init = { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } };
      statuses[path] = (await fetch(`http://127.0.0.1:${port}${path}`, init)).status;
    }
    assert.deepEqual(statuses, { '/nothing': 500, '/allow': 200, '/orgs': 200, '/foreign': 403 });
  }
});

async function opened(app: express.Express): Promise<{ port: number; stop(): Promise<void> }> {
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  return { port: server.port, stop: () => server.stop(1000) };
}
