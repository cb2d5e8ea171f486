import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { buildApp } from '../../src/start/app.ts';
import fc, { SEED } from '../support/fast-check.ts';
import { openFindings } from './findings.ts';
import { wrongKinds } from './hostile.ts';
import type { Given, Json, Operation } from './judge.ts';
import { KNOWN_CLIENT } from './protocol.ts';
import { type Draft, drafts, encode, type Segment } from './requests.ts';
import { routesOf } from './routes.ts';
import type { Sent } from './send.ts';
import { openStock, type Stock } from './stock.ts';
import { examplesOf, openWorld, type World } from './world.ts';

/** Requests of one run, sent for at most TIME_MS. FUZZ_RUNS sets another number, without the time limit. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 600);
/** The minimum, even on the slowest machine, as fewer requests show too little. */
const LEAST = 450;
const TIME_MS = process.env.FUZZ_RUNS ? Number.POSITIVE_INFINITY : 15_000;
const AT_ONCE = 8;
const REFILL_EVERY = 50;
/** They act on an organization of no caller with rights, as they would stop all other requests of its callers. */
const STOPS_ORG: ReadonlySet<string> = new Set(['deactivateOrg', 'deleteOrg', 'setOrgLimits']);

describe('random requests', () => {
  let world: World;
  let stock: Stock;
  const findings = openFindings();
  const answered = new Map<string, number>();

  before(async () => {
    // No worker runs here, so imports of one user answer 504.
    world = await openWorld({ workers: false, env: { SINGLE_IMPORT_TIMEOUT_MS: '60', LOGIN_DELAY_MS: '0' } });
    stock = await openStock(world);
  });
  after(() => world.stop());

  it('get only documented responses', { timeout: TIME_MS + 600_000 }, async (t) => {
    const operations = [...world.judge.operations, ...pages()];
    const arbitrary = drafts(operations, world.document);
    const until = Date.now() + TIME_MS;
    let sent = 0;
    while (sent < RUNS && (sent < LEAST || Date.now() < until)) {
      await stock.fill();
      const numRuns = Math.min(REFILL_EVERY, RUNS - sent);
      const waiting = fc.sample(arbitrary, { numRuns, seed: SEED + sent });
      const limit = sent < LEAST ? Number.POSITIVE_INFINITY : until;
      await Promise.all(Array.from({ length: AT_ONCE }, () => work(waiting, limit)));
      sent += numRuns - waiting.length;
    }
    t.diagnostic(`${sent} requests with seed ${SEED}, ${answered.size} operations × statuses`);
    for (const [kind, times] of [...answered].sort()) t.diagnostic(`${kind}: ${times}`);
    assert.deepEqual(findings.list(), []);
    // A run in which every request is refused shows nothing.
    const succeeded = [...answered.keys()].filter((kind) => / 20\d$/.test(kind)).length;
    assert.ok(succeeded > operations.length / 3, `only ${succeeded} operations ever succeeded`);
  });

  it('get only documented responses for a value of each wrong type in each field', async (t) => {
    const before = findings.list().length;
    let sent = 0;
    for (const operation of world.judge.operations.filter(({ object }) => object.requestBody)) {
      const path = Object.fromEntries([...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => [match[1], 0]));
      const largest = examplesOf(operation).sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))[0]?.[1];
      const bodies = largest ? [...wrongKinds(largest)] : [];
      const waiting = bodies.map((body): Draft => ({ operation, sender: 'admin', path, query: [], headers: {}, body }));
      sent += waiting.length;
      await stock.fill();
      await Promise.all(Array.from({ length: AT_ONCE }, () => work(waiting, Number.POSITIVE_INFINITY)));
    }
    t.diagnostic(`${sent} requests`);
    assert.deepEqual(findings.list().slice(before), []);
  });

  it('leave the service working', async () => {
    assert.equal((await world.api.call('GET', '/readyz')).status, 200);
    // Without a password, as a random request may have changed the policy of passwords.
    assert.equal((await world.api.call('POST', '/management/v1/orgs', { name: 'After all' })).status, 200);
  });

  const sizeOf = (body: Json) => JSON.stringify(body ?? '').length;

  /** Pages for people are not in the document; they only must not fail. */
  function pages(): Operation[] {
    const names = ['userId', 'code', 'password', 'again', 'loginName', 'login', 'totp', 'csrf', 'step'];
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const form = { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object', properties } } } };
    const parameters = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
    return routesOf(buildApp(world.api.deps).router)
      .filter((route) => route.includes(' /ui/'))
      .map((route) => {
        const [method = '', path = ''] = route.split(' ');
        return { id: route, method, path, object: method === 'GET' ? { parameters } : { requestBody: form } };
      });
  }

  async function work(waiting: Draft[], until: number): Promise<void> {
    while (Date.now() < until) {
      const draft = waiting.pop();
      if (!draft) return;
      await judgeOne(draft);
    }
  }

  async function judgeOne(draft: Draft): Promise<void> {
    const sent = requestOf(draft);
    const { operation } = draft;
    let answer: Given;
    try {
      answer = await world.sender.send(sent);
    } catch (error) {
      return findings.note(draft, sent, `no answer: ${(error as Error).message}`, '');
    }
    const kind = `${operation.id} ${answer.status}`;
    answered.set(kind, (answered.get(kind) ?? 0) + 1);
    for (const problem of problemsOf(operation, answer)) {
      findings.note(draft, sent, problem, JSON.stringify(answer.body));
    }
  }

  function requestOf({ operation, sender, path, query, headers, body }: Draft): Sent {
    const authorization = stock.callers[sender];
    const segments = Object.entries(path).map(([name, value]) => [name, segmentOf(name, value)]);
    const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => Object.fromEntries(segments)[name]);
    const isForm = operation.object.requestBody?.content['application/x-www-form-urlencoded'];
    return {
      method: operation.method,
      path: withClient(query.length > 0 ? `${filled}?${encode(query)}` : filled),
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        ...headers,
        ...(STOPS_ORG.has(operation.id) ? { 'x-service-orgid': 'globex' } : {}),
      },
      body: typeof body === 'string' ? withClient(body) : body,
    };
  }

  function withClient(encoded: string): string {
    return encoded.replaceAll(encodeURIComponent(KNOWN_CLIENT), stock.ids.clientId?.at(-1) ?? '');
  }

  /** A known id by its number, encoded text, or raw text that is invalid in a path. */
  function segmentOf(name: string, value: Segment): string {
    if (typeof value === 'object') return value.raw;
    const known = stock.ids[name] ?? [];
    const text = typeof value === 'string' ? value : (known[value % known.length] ?? 'none');
    return encodeURIComponent(text.toWellFormed());
  }

  function problemsOf(operation: Operation, answer: Given): string[] {
    const own = answer.status >= 500 && answer.status !== 504 ? [`answered ${answer.status}`] : [];
    return operation.object.responses ? [...own, ...world.judge.problems(operation, answer)] : own;
  }
});
