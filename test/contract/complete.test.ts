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
import { type OrgsOfBody, orgsOfBody, serve, serveRaw } from '../../src/contract/serve.ts';
import { renderErrors } from '../../src/platform/http/errors.ts';
import { parseBody } from '../../src/platform/http/parse.ts';
import { listen } from '../../src/platform/http/server.ts';
import { buildApp } from '../../src/start/app.ts';
import { operationOf } from '../roles/expected.ts';
import { type Request, requestTo } from '../roles/requests.ts';
import { type Row, readTable } from '../roles/table.ts';
import { openWorld, type World } from '../roles/world.ts';
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
        const answers = [await call(row, request, { token }), await call(row, request, { token, isAlias: true })];
        const [first, second] = answers.map(({ status, body }) => ({ status, body }));
        assert.deepEqual(second, first, `${row.operation} ${token}`);
      }
      const request = await requestTo(row.operation, world, await world.placeOf('own'));
      assert.equal((await call(row, request, { isAlias: true })).status, row.may, row.operation);
    }
  });

  it('that counts as an attempt is refused after RATE_LIMIT_LOGINS of them', async () => {
    for (const row of rowsOf(({ tries }) => tries)) {
      const place = await world.placeOf(row.cells.self ? 'self' : 'own');
      const request = await requestTo(row.operation, world, place);
      const answers = await callOften(row, { ...request, body: attempted(row, request) }, place.self?.token);
      const last = answers.pop() as Answer;
      assert.deepEqual([last.status, errorId(last)], [429, 'RATE-LIMIT'], row.operation);
      assert.deepEqual(
        answers.map(errorId).filter((id) => id === 'RATE-LIMIT'),
        [],
        row.operation,
      );
    }
  });

  it('that counts by its body does not count for a manager who sends no secret', async () => {
    for (const row of rowsOf(({ tries }) => tries === 'by-body')) {
      const request = await requestTo(row.operation, world, await world.placeOf('own'));
      const answers = await callOften(row, request);
      assert.deepEqual(
        answers.map(errorId).filter((id) => id === 'RATE-LIMIT'),
        [],
        row.operation,
      );
    }
  });

  /** One call more than the limit allows, from an address of its own. */
  async function callOften(row: Row, request: Request, token = world.api.token): Promise<Answer[]> {
    const answers: Answer[] = [];
    const address = nextAddress();
    for (let i = 0; i <= LIMIT; i++) answers.push(await call(row, request, { token, address }));
    return answers;
  }

  /** What users send who change what they sign in with, or somebody who has their token. */
  function attempted(row: Row, { body }: Request): unknown {
    const { id, tries } = operationOf(row);
    if (tries !== 'by-body') return body;
    const address = id === 'updateHumanUser' ? { email: { email: 'bea@example.com' } } : {};
    return { ...(body as object), ...address, currentPassword: 'a wrong one' };
  }

  let addresses = 0;
  function nextAddress(): string {
    addresses++;
    return `10.0.${addresses >> 8}.${addresses & 255}`;
  }

  interface How {
    token?: string | null;
    address?: string;
    isAlias?: boolean;
  }

  function call(row: Row, { params, body, headers }: Request, how: How): Promise<Answer> {
    const { token = world.api.token, address = nextAddress(), isAlias = false } = how;
    const path = row.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    return world.api.call(row.method, isAlias ? path.replace('/v2beta/', '/v2/') : path, body, {
      token,
      headers: { ...headers, 'x-forwarded-for': address },
    });
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
    for (const example of Object.values(body?.examples ?? {}))
      parseBody(body?.reads ?? (body?.schema as never), example, id);
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
