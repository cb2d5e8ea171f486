/** Idempotency keys: which import they identify, until when, and what happens to concurrent requests. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import {
  AlreadyAccepted,
  claimKey,
  findKey,
  type KeyedRequest,
  keepAnswer,
  keyedRequest,
  requestHashes,
  requireSame,
  sweepKeys,
} from '../../../src/imports/intake/idempotency.ts';
import { receiveImport } from '../../../src/imports/intake/intake.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import {
  ADMIN,
  acceptImport,
  addOrgs,
  cut,
  entries,
  importDeps,
  SECRETS,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const OLD = `now() - interval '24 hours 1 second'`;

function request(
  key: string | undefined,
  query: Record<string, unknown> = {},
  path = '/p',
  rest = 'json',
  secrets = SECRETS,
) {
  return keyedRequest({ get: () => key, query } as never, secrets, 'caller', path, rest);
}
const keyed = (key = 'k', ...rest: [query?: Record<string, unknown>, path?: string, rest?: string]) =>
  request(key, ...rest) as KeyedRequest;
const sha256 = (text: string) => createHash('sha256').update(text).digest();

describe('a key', () => {
  it('is 1 to 255 printable characters', () => {
    for (const good of ['k', ' ', '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '~'.repeat(255)])
      assert.match(keyed(good).key, /^sha256:[0-9a-f]{64}$/);
    for (const bad of ['', 'x'.repeat(256), 'tab\t', 'ž', '\x7f', '\u00e9']) {
      assert.throws(() => request(bad), { id: 'IMPORT-KEY', http: 400 }, JSON.stringify(bad));
    }
    assert.equal(request(undefined), undefined);
  });

  it('is stored as a hash, which depends on the caller and the path', () => {
    const expected = createHash('sha256').update('caller\n/p\nk').digest('hex');
    assert.equal(keyed('k').key, `sha256:${expected}`);
    const of = (caller: string) => keyedRequest({ get: () => 'k', query: {} } as never, SECRETS, caller, '/p', '')?.key;
    assert.notEqual(of('caller'), of('another'));
    assert.notEqual(keyed('k').key, keyed('k', {}, '/q').key);
  });

  it('belongs to a request with its query and format; the order of the parameters does not matter', () => {
    const hash = (...args: [Record<string, unknown>, string?]) =>
      keyed('k', args[0], '/p', args[1]).hash.update('{}').digest('hex');
    assert.equal(hash({ a: '1', b: ['2', '3'] }), hash({ b: ['2', '3'], a: '1' }));
    const all = [
      hash({}),
      hash({ a: '1' }),
      hash({ a: '2' }),
      hash({ a: '1', b: '' }),
      hash({ b: ['3', '2'] }),
      hash({}, 'ndjson'),
    ];
    assert.equal(new Set(all).size, all.length);
  });
});

describe('the hash of a request', () => {
  const [first = '', second = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  const hashes = (encryptionKey: string, others: string[] = []) => {
    const ours = request('k', {}, '/p', 'json', openSecrets(encryptionKey, others)) as KeyedRequest;
    ours.hash.update('{}');
    return requestHashes(ours);
  };
  const plain = createHash('sha256').update('["json",[]]\n{}').digest();

  it('is stored with a key, so the database does not confirm a guessed body', () => {
    const [stored] = hashes(first);
    assert.notDeepEqual(stored, plain);
    assert.notDeepEqual(stored, hashes(second)[0]);
    assert.deepEqual(stored, hashes(first)[0]);
  });

  it('is recognised after ENCRYPTION_KEY has been replaced, and if an earlier version stored it without a key', () => {
    const known = hashes(second, [first]);
    for (const stored of [hashes(first)[0] as Buffer, plain])
      requireSame({ importId: '1', requestHash: stored, answer: null }, known);
    const other = { importId: '1', requestHash: sha256('other'), answer: null };
    assert.throws(() => requireSame(other, known), { id: 'IMPORT-KEY-REUSED' });
  });
});

describe('the import of a key', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'idempotency' });
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    await db.pool.query('delete from idempotency_keys');
  });
  after(() => db.drop());

  const one = sha256('one');
  const claim = (importId: string, hash = one, of = keyed()) =>
    transaction(db.pool, (tx) => claimKey(tx, of, [hash], importId));
  const makeOld = () => db.pool.query(`update idempotency_keys set created_at = ${OLD}`);
  async function single(state: string): Promise<string> {
    const importId = await acceptImport(db.pool, entries(1));
    await setImport(db.pool, importId, { kind: "'single'", state: `'${state}'` });
    return importId;
  }

  it('is the first import, for an equal request; a different request is refused', async () => {
    await claim('1');
    await assert.rejects(claim('2'), (error) => error instanceof AlreadyAccepted && error.recorded.importId === '1');
    await assert.rejects(claim('2', sha256('two')), { id: 'IMPORT-KEY-REUSED', http: 409 });
    assert.equal((await findKey(db.pool, keyed()))?.importId, '1');
  });

  it('is separate for each caller and path', async () => {
    await claim('1');
    await claim('2', one, keyed('k', {}, '/other'));
    await claim('3', one, { ...keyed(), caller: 'somebody else' });
    await claim('4', one, keyed('K'));
    assert.equal((await findKey(db.pool, keyed()))?.importId, '1');
  });

  it('is not recorded when the transaction that accepts the import is rolled back', async () => {
    await assert.rejects(
      transaction(db.pool, async (tx) => {
        await claimKey(tx, keyed(), [one], '1');
        throw new Error('no');
      }),
      /no/,
    );
    assert.equal(await findKey(db.pool, keyed()), undefined);
    await claim('2', sha256('two'));
  });

  it('is that of a concurrent request whose acceptance commits first', async () => {
    for (const isAccepted of [true, false]) {
      await db.pool.query('delete from idempotency_keys');
      const first = await db.pool.connect();
      await first.query('begin');
      await claimKey(first, keyed(), [one], '1');
      const second = claim('2');
      second.catch(() => {}); // asserted below
      await first.query(isAccepted ? 'commit' : 'rollback');
      first.release();
      if (isAccepted) await assert.rejects(second, AlreadyAccepted);
      else await second;
      assert.equal((await findKey(db.pool, keyed()))?.importId, isAccepted ? '1' : '2');
    }
  });

  it('is forgotten after 24 hours, swept or not', async () => {
    await claim('1');
    await keepAnswer(db.pool, keyed(), '1', { userId: 'u' });
    await makeOld();
    assert.equal(await findKey(db.pool, keyed()), undefined);
    await claim('2', sha256('two'));
    assert.deepEqual(await findKey(db.pool, keyed()), { importId: '2', requestHash: sha256('two'), answer: null });
    assert.equal(await sweepKeys(db.pool), 0);
    for (let i = 0; i < 5; i++) await claim('1', one, keyed(`old${i}`));
    await makeOld();
    await claim('1', one, keyed('new'));
    const swept = await Promise.all([sweepKeys(db.pool), sweepKeys(db.pool)]);
    assert.equal(swept[0] + swept[1], 6);
    const { rows } = await db.pool.query('select key from idempotency_keys');
    assert.deepEqual(rows, [{ key: keyed('new').key }]);
  });

  it('is released by a single import that wrote nothing, and by no other', async () => {
    const key = (state: string) => keyed(state);
    for (const state of ['completed_with_errors', 'timed_out']) {
      await claim(await single(state), one, key(state));
      assert.equal(await findKey(db.pool, key(state)), undefined, state);
      await claim('99', sha256('mended'), key(state));
    }
    for (const state of ['running', 'succeeded']) {
      await claim(await single(state), one, key(state));
      await assert.rejects(claim('99', one, key(state)), AlreadyAccepted, state);
    }
    const bulk = await acceptImport(db.pool, entries(1));
    await setImport(db.pool, bulk, { state: "'cancelled'" });
    await claim(bulk);
    await assert.rejects(claim('99'), AlreadyAccepted);
  });

  describe('of a bulk import', () => {
    const body = (name: string) =>
      JSON.stringify({
        dataOrgs: {
          orgs: [{ orgId: 'org', humanUsers: entries(200, { profile: { firstName: name, lastName: 'x' } }) }],
        },
        timeout: '1h',
      });
    const send = (text: string, last: () => Promise<unknown> | unknown = () => {}) =>
      receiveImport(importDeps(db.pool), ADMIN, pieces(text, last), {
        parser: new DataOrgsParser(),
        strict: false,
        keyed: keyed(),
      });

    async function* pieces(text: string, last: () => unknown) {
      yield* cut(Buffer.from(text), 10_000);
      await last();
    }
    async function imports(): Promise<unknown[]> {
      const { rows } = await db.pool.query(
        'select i.id, i.state, count(*)::int as items from import_items t left join imports i on i.id = t.import_id group by i.id',
      );
      return rows;
    }

    it('is a single import, however many equal uploads end at once', async () => {
      let arrived = 0;
      const all = Promise.withResolvers<void>();
      const meet = () => {
        if (++arrived === 5) all.resolve();
        return all.promise;
      };
      const ids = await Promise.all([1, 2, 3, 4, 5].map(() => send(body('ann'), meet)));
      assert.equal(new Set(ids).size, 1);
      assert.deepEqual(await imports(), [{ id: ids[0], state: 'running', items: 200 }]);
      const { rows } = await db.pool.query(`select count(*)::int as n from events where type = 'import.accepted'`);
      assert.equal(rows[0].n, 1);
    });

    it('is not reserved by an upload that stalls, is interrupted or is refused', async () => {
      const stuck = Promise.withResolvers<void>();
      const first = send(body('ann'), () => stuck.promise);
      await assert.rejects(send(body('ann').slice(0, -1)), { id: 'REQUEST-JSON' });
      await assert.rejects(
        send(body('ann'), () => Promise.reject(new Error('the connection broke'))),
        /the connection broke/,
      );
      const second = await send(body('ann'));
      stuck.resolve();
      assert.equal(await first, second, 'the late request gets the id of the accepted import');
      assert.deepEqual(await imports(), [{ id: second, state: 'running', items: 200 }]);
    });

    it('is refused to a different body, which leaves nothing behind', async () => {
      const id = await send(body('ann'));
      await assert.rejects(send(body('bob')), { id: 'IMPORT-KEY-REUSED', http: 409 });
      assert.deepEqual(await imports(), [{ id, state: 'running', items: 200 }]);
    });
  });
});
