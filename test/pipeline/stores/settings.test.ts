/**
 * Imports, mails and the API on a database, and with a role, whose settings contradict everything that the code assumes
 * of its sessions, as the other programs of an operator may need them.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openPool } from '../../../src/platform/db/pool.ts';
import { bulk, unverified } from '../../support/imports/bodies.ts';
import { onEachBackend, startService } from '../../support/processes/service.ts';
import { opposeDatabase, opposed } from '../../support/stores/opposed.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const USERS = 60;

/** @returns the URL of the database for the service */
type Oppose = (db: TestDatabase, t: TestContext) => Promise<string>;

const OPPOSED: Record<string, Oppose> = {
  database: async (db) => {
    await opposeDatabase(db);
    return db.url;
  },
  role: async (db, t) => {
    const { url, drop } = await opposed(db);
    t.after(() => drop());
    return url;
  },
};

for (const [where, oppose] of Object.entries(OPPOSED)) {
  onEachBackend(`imports and mails work with other settings of the ${where}`, async (t, backend) => {
    const db = await testDatabase({ name: 'settings' });
    const url = await oppose(db, t);
    const pool = openPool(db.url);
    const onStopped = async () => {
      await pool.end();
      await db.drop();
    };
    const service = await startService(t, { backend, database: { url, pool }, onStopped });
    const org = await service.newOrg();
    const result = await service.imported(bulk(org.orgId, unverified('opposed', USERS)));
    assert.equal(result.state, 'IMPORT_STATE_SUCCEEDED');
    assert.match(result.details.creationDate, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    await waitFor(() => service.smtp.mails.length === USERS, { what: 'the mails' });
    const unsent = `select count(*)::int as n from mail_outbox where state::text <> 'sent'`;
    await waitFor(async () => (await pool.query(unsent)).rows[0].n === 0, { what: 'the outcome of each mail' });
  });
}
