/** The encryption key is replaced with `muster keys rotate`, killed and run again, while an import runs. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { SEALED_TABLES } from '../../src/operate/key-rotation.ts';
import { openSecrets } from '../../src/platform/encryption.ts';
import { bulk } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { runMuster } from '../support/processes/muster.ts';
import { must, onOneBackend, type Service, startService } from '../support/processes/service.ts';
import { startMuster } from '../support/processes/terminal.ts';
import { waitFor } from '../support/wait.ts';

const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');
const USERS = 12;

/** What a process that still used the old key would have stored. */
async function sealWithOldKey({ pool }: Service): Promise<void> {
  const now = openSecrets(NEW);
  const old = openSecrets(OLD, [NEW]);
  for (const { name, key, columns, inside } of SEALED_TABLES) {
    // No user of this test has factors beside an app.
    if (inside) continue;
    const names = key.map(([column]) => column);
    for (const [column, purposeOf] of Object.entries(columns)) {
      const { rows } = await pool.query(`select array[${names.map((n) => `${n}::text`)}] as key, ${column} as sealed
        from ${name} where ${column} is not null`);
      for (const row of rows) {
        const again = old.seal(now.unseal(row.sealed, purposeOf(row.key)), purposeOf(row.key));
        await pool.query(`update ${name} set ${column} = $1 where ${column} = $2`, [again, row.sealed]);
      }
    }
  }
  await pool.query('insert into encryption_keys (id) values ($1)', [old.keyIds[0]]);
}

onOneBackend('the encryption key', async (t, backend) => {
  const keys = { ENCRYPTION_KEY: NEW, DECRYPTION_KEYS: OLD };
  // Nothing is lost here, and hashing may take long: no job needs to be repeated.
  const service = await startService(t, { backend, workers: 0, env: { ...keys, RESCUE_AFTER_MS: '600000' } });
  const { orgId } = await service.newOrg();
  const secret = { hashedPassword: undefined, password: 'a plain one', otpCode: 'JBSWY3DPEHPK3PXP' };
  const users = Array.from({ length: USERS }, (_, i) => entry(`k${i}`, secret));
  const { importId } = (await must(service.importBody(bulk(orgId, users)))).body;
  await sealWithOldKey(service);
  const env = { ...keys, DATABASE_URL: service.databaseUrl };
  const use = async () => JSON.parse((await runMuster(['keys', 'status', '--json'], { env })).stdout);
  const before = await use();
  assert.equal(before.isDone, false);
  assert.deepEqual(Object.keys(before.values), openSecrets(OLD).keyIds);

  await service.startWorker();
  const killed = startMuster(['keys', 'rotate'], { env });
  await waitFor(
    async () =>
      (
        await service.pool.query(
          `select from import_items where totp_sealed like $1
    union all select from user_totp where secret like $1`,
          [`${before.current}.%`],
        )
      ).rowCount,
    {
      what: 'the first value with the new key',
    },
  );
  killed.kill('SIGKILL');
  await killed.finished;

  const rotated = await runMuster(['keys', 'rotate'], { env });
  assert.equal(rotated.code, 0, rotated.stderr);
  assert.match(rotated.stdout, /Only ENCRYPTION_KEY is needed\./);
  const { state, counts } = await service.waitForEnd(importId);
  assert.deepEqual([state, counts.succeeded], ['IMPORT_STATE_SUCCEEDED', USERS]);
  const after = await use();
  assert.deepEqual([Object.keys(after.values), after.isDone], [[after.current], true]);
  const { rows } = await service.pool.query('select id from encryption_keys');
  assert.deepEqual(rows, [{ id: after.current }]);
  const alone = await runMuster(['keys', 'status'], { env: { ...env, DECRYPTION_KEYS: '' } });
  assert.equal(alone.code, 0);
  assert.match(alone.stdout, new RegExp(`${after.current} +${USERS + 1} +ENCRYPTION_KEY`));
});
