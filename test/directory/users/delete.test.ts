import assert from 'node:assert/strict';
import test from 'node:test';
import { deleteUser } from '../../../src/directory/users/store.ts';
import { transaction } from '../../../src/platform/db/pool.ts';
import { addImport, addMail, addOrg, addPerson, ORG_ID } from '../../messages/mail/rows.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

test('deleting a user drops their unsent mails, and their import no longer waits for them', async () => {
  const { pool } = await testDatabase();
  await addOrg(pool);
  const importId = await addImport(pool, 3);
  for (const id of ['gone', 'stays']) {
    await addPerson(pool, { id });
    await addMail(pool, { kind: 'verify_email', userId: id, importId });
  }
  const sent = await addMail(pool, { kind: 'verify_email', userId: 'gone', importId });
  await pool.query(`update mail_outbox set state = 'sent' where id = $1`, [sent.outboxId]);
  await pool.query('update imports set mails_sent = 1 where id = $1', [importId]);

  await transaction(pool, (db) => deleteUser(db, { id: 'gone', orgId: ORG_ID }, 'admin'));

  const { rows } = await pool.query('select mails_due, mails_sent from imports where id = $1', [importId]);
  assert.deepEqual(rows, [{ mails_due: 2, mails_sent: 1 }], 'one was sent, one still waits');
  const left = await pool.query('select user_id, state from mail_outbox');
  assert.deepEqual(left.rows, [{ user_id: 'stays', state: 'pending' }]);
});
