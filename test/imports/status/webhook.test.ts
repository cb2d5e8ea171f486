/** The message of an import's end. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { composeEnd } from '../../../src/imports/status/webhook.ts';
import { claimWebhooks, type DueWebhook } from '../../../src/messages/webhooks/outbox.ts';
import { addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

describe('the message of the end of an import', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'webhook end' });
    await addOrgs(db.pool, 'org');
  });
  after(() => db.drop());

  const setState = (id: string, state: string) =>
    db.pool.query(
      `update imports set state = $2::import_state, sequence = sequence + 1, finished_at = case when $2 <> 'running' then now() end
       where id = $1`,
      [id, state],
    );
  async function running(): Promise<string> {
    const { rows } = await db.pool.query(
      `insert into imports (kind, state, created_by, resource_owner, accepted_at, deadline, webhook_url, webhook_org)
       values ('bulk', 'running', 'admin', 'org', now(), now() + interval '10 min', 'https://example.com', 'org') returning id`,
    );
    return rows[0].id;
  }
  /** What the message of each end would say, in the order of the ends. */
  async function composed(): Promise<(string | undefined)[]> {
    const due: DueWebhook[] = [];
    for (let more = true; more; ) {
      const claimed = await claimWebhooks(db.pool, { limit: 10, holdMs: 60_000 });
      due.push(...claimed);
      more = claimed.length > 0;
    }
    const inOrder = due.toSorted((a, b) => Number(a.id) - Number(b.id));
    const bodies = await Promise.all(inOrder.map((one) => composeEnd(db.pool, one)));
    return bodies.map((body) => body && JSON.parse(body).state);
  }

  it('tells the state', async () => {
    await setState(await running(), 'cancelled');
    assert.deepEqual(await composed(), ['IMPORT_STATE_CANCELLED']);
  });

  it('is dropped when the import runs again', async () => {
    const id = await running();
    await setState(id, 'cancelled');
    await setState(id, 'running');
    assert.deepEqual(await composed(), [undefined]);
  });

  it('is told once when the import ended again before the first message was composed', async () => {
    const id = await running();
    await setState(id, 'cancelled');
    await setState(id, 'running');
    await setState(id, 'succeeded');
    assert.deepEqual(await composed(), [undefined, 'IMPORT_STATE_SUCCEEDED']);
  });
});
