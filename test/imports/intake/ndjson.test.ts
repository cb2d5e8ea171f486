/** NDJSON bodies all the way into the database, and refused ones that leave nothing there. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Caller } from '../../../src/contract/permissions.ts';
import {
  type AcceptOptions,
  acceptBody,
  addOrgs,
  entries,
  entry,
  importRow,
  itemRows,
  type Row,
  wipe,
} from '../../support/imports/imports.ts';
import { acceptLines, lines, ofOrg } from '../../support/imports/ndjson.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const OWNER: Caller = { userId: 'm', orgId: 'mine', isIamOwner: false, orgRoles: new Map([['mine', ['ORG_OWNER']]]) };

describe('an NDJSON body', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'ndjson' });
    await addOrgs(db.pool, 'mine', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(() => db.drop());

  async function orgRows(importId: string) {
    const { rows } = await db.pool.query(
      'select org_index, org_id, total, failed from import_orgs where import_id = $1 order by org_index',
      [importId],
    );
    return rows;
  }

  it('counts each organization, in any order of lines, and numbers the users in line order', async () => {
    const users = entries(600);
    const body = users.map((one, i) => ({
      orgId: i % 3 === 0 ? 'other' : 'mine',
      ...(i % 100 === 7 ? { userId: `x${i}` } : one),
    }));
    for (const chunk of [65_536, 97]) {
      await wipe(db.pool);
      const importId = await acceptLines(db.pool, lines(body, '\r\n'), { chunk });
      assert.deepEqual(await orgRows(importId), [
        { org_index: 0, org_id: 'other', total: 200, failed: 2 },
        { org_index: 1, org_id: 'mine', total: 400, failed: 4 },
      ]);
      const { total, failed, timeout, state } = await importRow(db.pool, importId);
      assert.deepEqual([total, failed, timeout, state], [600, 6, '1h', 'running']);
      assert.deepEqual(
        (await itemRows(db.pool, importId)).map((i) => [i.ordinal, i.org_index, i.user_id]),
        body.map(({ orgId, userId }, i) => [i, orgId === 'other' ? 0 : 1, userId]),
      );
    }
  });

  it('gives the same rows as the same users in dataOrgs', async () => {
    const users = [
      entry('a', { metadata: [{ key: 'k', value: 'dg==' }] }),
      { userId: 'b', user: { user_name: 'b' } },
      { ...entry('c', { shoeSize: 1 }), state: 'USER_STATE_LOCKED' },
      entry('a'),
      entry('d', { userName: 'tab\\there' }),
    ];
    const rowsOf = async (importId: string): Promise<Row[]> =>
      (await itemRows(db.pool, importId)).map(({ import_id: _, entry_sealed, ...row }) => ({
        ...row,
        isKept: entry_sealed !== null,
      }));
    const dataOrgs = { orgs: [{ orgId: 'mine', humanUsers: users }] };
    const asBody = await rowsOf(await acceptBody(db.pool, { dataOrgs, timeout: '1h' }));
    const asLines = await rowsOf(await acceptLines(db.pool, lines(ofOrg('mine', users))));
    assert.deepEqual(asLines, asBody);
    assert.deepEqual(
      asLines.map((i) => i.state),
      ['pending', 'failed', 'pending', 'failed', 'pending'],
    );
  });

  it('warns of unknown fields by their path in the line', async () => {
    const body = [entry('a', { shoe: 1 }), { ...entry('b', { shoe: 2 }), note: 'x' }, entry('c')];
    const importId = await acceptLines(db.pool, lines(ofOrg('mine', body)));
    const { warnings } = await importRow(db.pool, importId);
    assert.deepEqual(
      warnings.map((w: { path: string; count: number }) => [w.path, w.count]),
      [
        ['user.shoe', 2],
        ['note', 1],
      ],
    );
    const strict = await acceptLines(db.pool, lines(ofOrg('mine', body)), { strict: true });
    const { failed } = await importRow(db.pool, strict);
    assert.equal(failed, 2);
  });

  describe('that is refused leaves nothing behind', () => {
    const users = entries(50);
    const mine = ofOrg('mine', users);
    interface Refusal extends AcceptOptions {
      body: string;
      id: string;
      message?: RegExp;
    }
    const REFUSALS: Record<string, Refusal> = {
      'no line': { body: '\r\n', id: 'IMPORT-BODY', message: /at least one line/ },
      'a broken line at the end': { body: `${lines(mine)}{`, id: 'REQUEST-JSON', message: /^Line 51 / },
      'a truncated line': { body: lines(mine).slice(0, -20), id: 'REQUEST-JSON', message: /^Line 50 / },
      'a line without orgId': {
        body: lines([...mine, users[0]]),
        id: 'IMPORT-BODY',
        message: /^Line 51: orgId is required/,
      },
      'an error of another program': {
        body: '{"error":"not logged in","code":16,"state":"x"}\n',
        id: 'IMPORT-BODY',
        message: /^Line 1: orgId is required; not known: "error", "code"\.$/,
      },
      'a body with dataOrgs': {
        body: JSON.stringify({ dataOrgs: { orgs: [{ orgId: 'mine', humanUsers: users }] }, timeout: '1h' }),
        id: 'IMPORT-BODY',
        message: /^Line 1: the line is a whole body with dataOrgs\. .*application\/json\.$/,
      },
      'an orgId that is a number': {
        body: lines([{ orgId: 7 }]),
        id: 'IMPORT-BODY',
        message: /^Line 1: orgId must be a string\.$/,
      },
      'an empty orgId': {
        body: lines([...mine, { orgId: '' }]),
        id: 'IMPORT-BODY',
        message: /^Line 51: orgId /,
      },
      'an orgId with NUL': { body: lines([{ orgId: 'mi\0ne' }]), id: 'IMPORT-BODY', message: /^Line 1: orgId / },
      'an organization that does not exist': {
        body: lines([...mine, { orgId: 'nowhere' }]),
        id: 'ORG-NOT-FOUND',
        message: /^Line 51: /,
      },
      'the same, for a caller who is not an IAM_OWNER': {
        body: lines([...mine, { orgId: 'nowhere' }]),
        id: 'AUTH-PERMISSION',
        caller: OWNER,
      },
      'an organization of another owner': {
        body: lines([...mine, { orgId: 'other' }]),
        id: 'AUTH-PERMISSION',
        caller: OWNER,
      },
      'too many levels': {
        body: lines([...mine, { orgId: 'mine', x: JSON.parse('['.repeat(70) + ']'.repeat(70)) }]),
        id: 'IMPORT-DEPTH',
      },
      'too large': { body: lines(mine), id: 'REQUEST-TOO-LARGE', env: { MAX_IMPORT_BYTES: '9000' } },
      ...Object.fromEntries(
        [null, 7, '', '0s', '-1s', '25h', 'soon', ['1h', '2h'], {}].map((timeout) => [
          `timeout ${JSON.stringify(timeout)}`,
          { body: `${lines(mine)}{`, id: 'IMPORT-TIMEOUT', timeout },
        ]),
      ),
    };
    for (const [what, { body, id, message, ...options }] of Object.entries(REFUSALS)) {
      it(what, async () => {
        for (const chunk of [65_536, 101]) {
          await assert.rejects(acceptLines(db.pool, body, { ...options, chunk }), (error: Error & { id: string }) => {
            assert.equal(error.id, id);
            if (message) assert.match(error.message, message);
            return true;
          });
        }
        const { rows } =
          await db.pool.query(`select (select count(*) from imports) + (select count(*) from import_items)
          + (select count(*) from import_orgs) + (select count(*) from events) as n`);
        assert.equal(rows[0].n, '0');
      });
    }
  });
});
