/** A refused body leaves nothing behind, however much of it was read. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Caller } from '../../../src/contract/permissions.ts';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import { receiveImport } from '../../../src/imports/intake/intake.ts';
import {
  type AcceptOptions,
  ADMIN,
  acceptBody,
  addOrgs,
  entries,
  entry,
  importDeps,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const OWNER: Caller = { userId: 'm', orgId: 'mine', isIamOwner: false, orgRoles: new Map([['mine', ['ORG_OWNER']]]) };
const MANAGER: Caller = { ...OWNER, orgRoles: new Map([['mine', ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']]]) };

const users = JSON.stringify(entries(3));
const org = (orgId: unknown, humanUsers = users) => `{"orgId":${JSON.stringify(orgId)},"humanUsers":${humanUsers}}`;
const body = (orgs: string, rest = ',"timeout":"1h"') => `{"dataOrgs":{"orgs":[${orgs}]}${rest}}`;

interface Refusal {
  body: string | Buffer;
  id: string;
  status?: string;
  http?: number;
  field?: string;
  /** Part of the message. */
  words?: RegExp;
  caller?: Caller;
  env?: Record<string, string>;
}

const REFUSALS: Record<string, Refusal> = {
  'not JSON': { body: '', id: 'REQUEST-JSON' },
  'broken JSON after users': { body: body(org('mine')).slice(0, -1), id: 'REQUEST-JSON' },
  'another document': { body: `${body(org('mine'))}{}`, id: 'REQUEST-JSON' },
  'an unterminated string in the frame': { body: `${body(org('mine'))}"`, id: 'REQUEST-JSON' },
  'not an object': { body: '[]', id: 'IMPORT-BODY' },
  'no dataOrgs': { body: '{"timeout":"1h"}', id: 'IMPORT-BODY', field: 'dataOrgs' },
  'no orgs': { body: '{"dataOrgs":{},"timeout":"1h"}', id: 'IMPORT-BODY', field: 'dataOrgs.orgs' },
  'empty orgs': { body: body(''), id: 'IMPORT-BODY', field: 'dataOrgs.orgs' },
  'no user at all': { body: body(`${org('mine', '[]')},{"orgId":"other"}`), id: 'IMPORT-BODY', field: 'dataOrgs.orgs' },
  'users under another name': {
    body: body(`${org('mine')},{"orgId":"other","users":${users}}`),
    id: 'IMPORT-BODY',
    field: 'dataOrgs.orgs[1].users',
    words: /must be in "humanUsers", not in "users"/,
  },
  'users under a name in another case': {
    body: body(`{"orgId":"mine","HumanUsers":${users}}`),
    id: 'IMPORT-BODY',
    field: 'dataOrgs.orgs[0].HumanUsers',
    words: /not in "HumanUsers"/,
  },
  'an error of another program': {
    body: '{"error":"not logged in","code":16}',
    id: 'IMPORT-BODY',
    field: 'dataOrgs',
    words: /is required; not known: "error", "code"/,
  },
  'lines of users': {
    body: '{"orgId":"mine","user":{}}\n{"orgId":"mine","user":{}}\n',
    id: 'IMPORT-FORMAT',
    words: /more than one JSON object.*application\/x-ndjson/,
  },
  'gzip without its header': { body: gzipSync(body(org('mine'))), id: 'IMPORT-FORMAT', words: /gzip/ },
  'a ZIP archive': { body: 'PK\x03\x04 and so on', id: 'IMPORT-FORMAT', words: /ZIP/ },
  'UTF-16': { body: Buffer.from(body(org('mine')), 'utf16le'), id: 'IMPORT-FORMAT', words: /UTF-16/ },
  'UTF-16 with a byte order mark': { body: Buffer.from('\ufeff{}', 'utf16le'), id: 'IMPORT-FORMAT', words: /UTF-16/ },
  'an HTML page': { body: '\n<!DOCTYPE html><title>Sign in</title>', id: 'IMPORT-FORMAT', words: /HTML/ },
  XML: { body: '\ufeff<?xml version="1.0"?><users/>', id: 'IMPORT-FORMAT', words: /HTML or XML/ },
  'an org without orgId': {
    body: body(`${org('mine')},{"humanUsers":${users}}`),
    id: 'IMPORT-BODY',
    field: 'dataOrgs.orgs[1].orgId',
  },
  'an orgId that is null': { body: body(org(null)), id: 'IMPORT-BODY', field: 'dataOrgs.orgs[0].orgId' },
  'an orgId that is a number': { body: body(org(7)), id: 'IMPORT-BODY', field: 'dataOrgs.orgs[0].orgId' },
  'an orgId that is an object': { body: body(org({})), id: 'IMPORT-BODY', field: 'dataOrgs.orgs[0].orgId' },
  'an empty orgId': { body: body(org('')), id: 'IMPORT-BODY', field: 'dataOrgs.orgs[0].orgId' },
  'an orgId with NUL': { body: body(org('mi\0ne')), id: 'IMPORT-BODY', field: 'dataOrgs.orgs[0].orgId' },
  'an orgId with a lone surrogate': {
    body: body(org('mine\ud800')),
    id: 'IMPORT-BODY',
    field: 'dataOrgs.orgs[0].orgId',
  },
  'an org that is not an object': { body: body(`${org('mine')},null`), id: 'IMPORT-BODY', field: 'orgs[1]' },
  'an org that does not exist': { body: body(org('nowhere')), id: 'ORG-NOT-FOUND', status: 'NOT_FOUND', http: 404 },
  'an org that does not exist, known after its users': {
    body: body(`{"humanUsers":${users},"orgId":"nowhere"}`),
    id: 'ORG-NOT-FOUND',
    status: 'NOT_FOUND',
  },
  'an org of another owner': {
    body: body(`${org('mine')},${org('other')}`),
    id: 'AUTH-PERMISSION',
    status: 'PERMISSION_DENIED',
    caller: OWNER,
  },
  'a missing org, for a caller who is not an IAM_OWNER': {
    body: body(org('nowhere')),
    id: 'AUTH-PERMISSION',
    status: 'PERMISSION_DENIED',
    caller: OWNER,
  },
  'an org that the caller does not own': {
    body: body(org('mine')),
    id: 'AUTH-PERMISSION',
    status: 'PERMISSION_DENIED',
    caller: MANAGER,
  },
  'no timeout': { body: body(org('mine'), ''), id: 'IMPORT-TIMEOUT', field: 'timeout' },
  'a timeout that is null': { body: body(org('mine'), ',"timeout":null'), id: 'IMPORT-TIMEOUT', field: 'timeout' },
  'a timeout that is a number': { body: body(org('mine'), ',"timeout":30'), id: 'IMPORT-TIMEOUT', field: 'timeout' },
  'a timeout that is an object': {
    body: body(org('mine'), ',"timeout":{"s":1}'),
    id: 'IMPORT-TIMEOUT',
    field: 'timeout',
  },
  'a timeout of 0': { body: body(org('mine'), ',"timeout":"0s"'), id: 'IMPORT-TIMEOUT', field: 'timeout' },
  'a timeout that is too long': {
    body: body(org('mine'), ',"timeout":"24h0m1s"'),
    id: 'IMPORT-TIMEOUT',
    field: 'timeout',
  },
  'a timeout twice': {
    body: body(org('mine'), ',"timeout":"1h","timeout":"1h"'),
    id: 'IMPORT-DUPLICATE-KEY',
    field: 'timeout',
  },
  'two spellings of one key': {
    body: body(org('mine'), ',"timeout":"1h","data_orgs":{}'),
    id: 'IMPORT-DUPLICATE-KEY',
    field: 'dataOrgs',
  },
  'too deep': { body: body(org('mine', `[${'['.repeat(60)}${']'.repeat(60)}]`)), id: 'IMPORT-DEPTH' },
  'too large': {
    body: body(org('mine', JSON.stringify(entries(10)))),
    id: 'REQUEST-TOO-LARGE',
    status: 'RESOURCE_EXHAUSTED',
    http: 413,
    env: { MAX_IMPORT_BYTES: '1024' },
  },
};

describe('a refused import', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'refusals' });
    await addOrgs(db.pool, 'mine', 'other');
  });
  afterEach(() => assertNothing());
  after(() => db.drop());

  async function assertNothing() {
    const { rows } = await db.pool.query(`select (select count(*) from imports) + (select count(*) from import_items)
      + (select count(*) from import_orgs) + (select count(*) from import_dispatch) + (select count(*) from events) as n`);
    assert.equal(rows[0].n, '0');
  }
  const isAs =
    ({ id, status = 'INVALID_ARGUMENT', http, field, words = /./ }: Refusal) =>
    (error: unknown) => {
      assert.match((error as Error).message, words);
      const { violations, ...got } = error as {
        id: string;
        status: string;
        http: number;
        violations: { field: string }[];
      };
      assert.deepEqual({ id: got.id, status: got.status }, { id, status });
      if (http) assert.equal(got.http, http);
      if (field)
        assert.deepEqual(
          violations.map((v) => v.field),
          [field],
        );
      return true;
    };

  for (const [what, refusal] of Object.entries(REFUSALS)) {
    it(`leaves nothing behind: ${what}`, async () => {
      const options: AcceptOptions = { caller: refusal.caller, env: refusal.env };
      await assert.rejects(acceptBody(db.pool, refusal.body, options), isAs(refusal));
      await assert.rejects(acceptBody(db.pool, refusal.body, { ...options, chunk: 7 }), isAs(refusal));
    });
  }

  it('is refused for the first fatal problem of the body, whatever comes later', async () => {
    const cases: [string, string][] = [
      [`{"timeout":"0s","dataOrgs":{"orgs":[${org('nowhere')},{]`, 'IMPORT-TIMEOUT'],
      [`{"dataOrgs":{"orgs":[${org('nowhere')}]},"timeout":"0s"}`, 'ORG-NOT-FOUND'],
      [`{"dataOrgs":{"orgs":[${org('mine', '[1,{]')},"timeout":"0s"}`, 'REQUEST-JSON'],
      [`{"dataOrgs":{"orgs":[{"humanUsers":[]},${org('nowhere')}]}}`, 'IMPORT-BODY'],
    ];
    for (const [text, id] of cases) {
      await assert.rejects(acceptBody(db.pool, text), { id }, text);
      await assert.rejects(acceptBody(db.pool, text, { chunk: 1 }), { id }, text);
    }
  });

  it('leaves nothing of several megabytes that had already been written', async () => {
    const many = JSON.stringify(
      Array.from({ length: 40_000 }, (_, i) =>
        entry(`u${i}`, { profile: { firstName: 'x'.repeat(190), lastName: 'y'.repeat(190) } }),
      ),
    );
    let most = 0;
    const watch = async () => {
      const { rows } = await db.pool.query('select count(*)::int as n from import_items');
      most = Math.max(most, rows[0].n);
    };
    await assert.rejects(receive(`{"dataOrgs":{"orgs":[{"orgId":"mine","humanUsers":${many}},{}]}}`, watch), {
      id: 'IMPORT-BODY',
    });
    assert.ok(most > 1000, `${most} rows had been written`);
  });

  it('leaves nothing of an upload that was interrupted', async () => {
    const text = body(org('mine', JSON.stringify(entries(2000))));
    const cut = () => {
      throw new Error('the connection broke');
    };
    await assert.rejects(
      receive(text, async () => {}, cut),
      /the connection broke/,
    );
  });

  /** Sends the text in chunks, calls `count` after each MiB, and runs `last` before the body ends. */
  async function receive(text: string, count: () => Promise<void>, last: () => void = () => {}) {
    const bytes = Buffer.from(text);
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += 65_536) {
        yield bytes.subarray(at, at + 65_536);
        if (at % (65_536 * 16) === 0) await count();
      }
      last();
    }
    return receiveImport(importDeps(db.pool), ADMIN, chunks(), { parser: new DataOrgsParser(), strict: false });
  }
});
