import assert from 'node:assert/strict';
import test from 'node:test';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startApi } from '../support/api.ts';
import { acceptImport, addOrgs, entry } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';

test('users are dispatched even when the rates of imports cannot be sampled', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  const { pool } = api.deps;
  await pool.query('alter table import_rates rename to import_rates_away');
  await addOrgs(pool, 'org');
  const id = await acceptImport(pool, [entry('ann'), entry('bob')]);
  const dispatcher = startDispatcher(api.deps);
  t.after(() => dispatcher.stop());
  const dispatched = async () => {
    const { rows } = await pool.query('select dispatched from import_dispatch where import_id = $1', [id]);
    return rows[0].dispatched === 2;
  };
  await waitFor(dispatched, { what: 'the users to be dispatched' });
  assert.equal(await api.deps.queues.depth('imports'), 2);
});
