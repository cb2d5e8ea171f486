/** Stores that answer over TLS only with a certificate of a private authority, as managed ones do. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Finding } from '../../../src/contract/finding.ts';
import { openPool } from '../../../src/platform/db/pool.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { bulk, OLD_PASSWORD, people } from '../../support/imports/bodies.ts';
import { assertEachOnce } from '../../support/imports/outcome.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { must, onEachBackend, startService } from '../../support/processes/service.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startDistributionServer } from '../../support/stores/distribution.ts';
import { startTlsRedis, useTls } from '../../support/stores/tls.ts';

const USERS = 300;

onEachBackend('an import and a login with stores over TLS', async (t, backend) => {
  if (!requireOrSkip(t, 'postgres')) return;
  const dir = await mkdtemp(join(tmpdir(), 'muster-tls-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const { certificate, key } = makeCertificate(dir);
  // Of this process, which looks into the queue too.
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, await readFile(certificate, 'utf8')]);
  t.after(() => setDefaultCACertificates(usual));

  const server = await startDistributionServer();
  t.after(() => server.stop());
  await useTls(server.url, certificate, key);
  const url = `${server.url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full&sslrootcert=${certificate}`;
  const pool = openPool(url, { max: 4 });
  t.after(() => pool.end());
  const redis = backend === 'redis' ? await startTlsRedis(t, { certificate, key }) : undefined;

  const env = { NODE_EXTRA_CA_CERTS: certificate };
  const options = { database: { url, pool }, ...(redis ? { redisUrl: redis.url } : {}) };
  const service = await startService(t, { backend, ...options, env, workers: 2, ownProcesses: true });
  const org = await service.newOrg();
  const users = people('t', USERS);
  const { importId } = await service.imported(bulk(org.orgId, users));
  await assertEachOnce(service, importId, { users: USERS });
  const checks = { user: { userId: (users[0] as { userId: string }).userId }, password: { password: OLD_PASSWORD } };
  await must(service.call('POST', '/v2beta/sessions', { checks }));

  const { rows } = await pool.query(`select s.ssl, count(*)::int as n from pg_stat_activity a
    join pg_stat_ssl s using (pid) where a.application_name like 'muster%' and a.client_addr is not null group by 1`);
  assert.equal(rows.length, 1);
  assert.equal(rows[0].ssl, true);
  if (redis) assert.deepEqual(await redis.plainClients(), []);

  setDefaultCACertificates(usual);
  const doctor = await runMuster(['doctor', '--local', '--json'], {
    env: {
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      DATABASE_URL: url.replace(/&sslrootcert=.*/, ''),
      ...(redis ? { REDIS_URL: redis.url } : {}),
    },
  });
  const findings: Finding[] = JSON.parse(doctor.stdout).findings;
  for (const store of redis ? ['postgresql', 'redis'] : ['postgresql']) {
    const found = findings.find(({ name }) => name === store);
    assert.equal(found?.state, 'problem');
    assert.match(`${found?.message} ${found?.advice}`, /self-signed certificate.*NODE_EXTRA_CA_CERTS/);
  }
});
