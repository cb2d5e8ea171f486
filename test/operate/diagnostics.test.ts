/** `GET /admin/v1/diagnostics` reports the state of the stores, also if one is down, and never their addresses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { checkService } from '../../src/contract/findings.ts';
import { localFacts } from '../../src/operate/local-diagnostics.ts';
import { readConfig } from '../../src/platform/config.ts';
import { requireStores } from '../../src/platform/lifecycle.ts';
import { prepareInstance } from '../../src/start/database.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startMailer } from '../../workers/mailer.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { BACKENDS } from '../support/processes/service.ts';
import { findProgram, requireOrSkip } from '../support/runner/programs.ts';
import { startSmtp } from '../support/smtp.ts';
import { startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

const read = async (api: TestApi) => (await api.call('GET', '/admin/v1/diagnostics')).body;

for (const backend of BACKENDS) {
  test(`reports the queue on ${backend} and its workers`, async (t) => {
    if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
    const env: Record<string, string> = backend === 'redis' ? { REDIS_URL: process.env.TEST_REDIS_URL as string } : {};
    const api = await startApi({ env });
    t.after(() => api.stop());
    const idle = await read(api);
    assert.equal(idle.queue.backend, backend);
    assert.deepEqual(idle.queue.jobs, { imports: 0, mails: 0 });
    assert.deepEqual(idle.queue.workers, { imports: 0, mails: 0 });
    assert.deepEqual([idle.queue.answers, idle.queue.dispatching], [true, false]);
    assert.equal(idle.queue.redis?.maxmemoryPolicy, backend === 'redis' ? 'noeviction' : undefined);
    if (backend === 'redis') assert.match(idle.queue.redis.version, /^(?:Redis|Valkey) \d+\.\d+/);

    const [worker, mailer] = [startImportWorker(api.deps), startMailer(api.deps)];
    const seen = async () => {
      const { imports, mails } = (await read(api)).queue.workers;
      return imports === 1 && mails === 1;
    };
    await waitFor(seen, { what: 'the workers to be reported' }).finally(() =>
      Promise.all([worker.stop(), mailer.stop()]),
    );
  });
}

test('reports the database, the key and the limits', async (t) => {
  const api = await startApi({ env: { MAX_BACKLOG: '7', RATE_LIMIT_LOGINS: '5' } });
  t.after(() => api.stop());
  const { version, node, postgres, encryptionKey, limits, mail } = await read(api);
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.equal(node, process.versions.node);
  assert.match(postgres.version, /^\d+\.\d+$/);
  // The test server runs without durability.
  assert.deepEqual(postgres.settings, { fsync: false, fullPageWrites: false, synchronousCommit: 'off' });
  assert.equal(postgres.migrations.applied, postgres.migrations.known);
  assert.ok(postgres.connections.used > 0 && postgres.connections.max > 400 && postgres.databaseBytes > 1_000_000);
  assert.deepEqual(encryptionKey, { opensSigningKeys: true });
  assert.deepEqual([limits.maxBacklog, limits.backlog, limits.loginsPerMinute], [7, 0, 5]);
  assert.deepEqual(mail, { transport: 'files', pending: 0, failedLastWeek: 0 });

  await api.deps.pool.query('update migrations set id = id - 900');
  await api.deps.pool.query(`update signing_keys set sealed_jwk = 'AAAA'`);
  const worse = await read(api);
  assert.deepEqual(
    [worse.postgres.migrations.applied, worse.encryptionKey.opensSigningKeys],
    [postgres.migrations.known - 900, false],
  );
});

test('counts mails, and checks the mail server', async (t) => {
  const smtp = await startSmtp();
  const api = await startApi({ env: { SMTP_URL: smtp.url } });
  t.after(() => api.stop());
  await api.setupOrg({ human: { email: { email: 'ann@example.com' } } });
  const { rows } = await api.deps.pool.query(
    `insert into mail_outbox (kind, user_id, code_id, state, settled_at)
     select kind, user_id, code_id, 'failed', now() - age * interval '1 day' from mail_outbox, unnest(array[1, 6, 8]) age
     returning id`,
  );
  assert.equal(rows.length, 3);
  assert.deepEqual((await read(api)).mail, {
    transport: 'smtp',
    smtp: { answers: true },
    pending: 1,
    failedLastWeek: 2,
  });
  await smtp.stop();
  assert.deepEqual((await read(api)).mail.smtp, { answers: false, reason: 'ECONNREFUSED' });
});

/** Without the caller's own address, which is the same here. */
function ofStores({ proxy, ...body }: Record<string, unknown>): Record<string, unknown> {
  assert.ok(proxy);
  return body;
}

test('an unreachable mail server is reported by its error code, without its address', async (t) => {
  for (const [url, reason] of [
    ['smtp://mail.invalid:2525', /^(?:ENOTFOUND|EAI_AGAIN|EDNS)$/],
    ['smtp://user:hunter2@127.0.0.1:1', /^ECONNREFUSED$/],
  ] as const) {
    const api = await startApi({ env: { SMTP_URL: url } });
    t.after(() => api.stop());
    const body = await read(api);
    assert.match(body.mail.smtp.reason, reason);
    assert.doesNotMatch(JSON.stringify(ofStores(body)), /hunter2|mail\.invalid|127\.0\.0\.1/);
  }
});

test('a Redis that is down is reported within seconds, and everything else too', async (t) => {
  const program = findProgram('redis');
  if (!requireOrSkip(t, 'redis') || !program) return;
  const redis = await startRedis(program);
  const api = await startApi({ env: { REDIS_URL: redis.url } });
  t.after(() => api.stop());
  assert.equal((await read(api)).queue.answers, true);
  await redis.stop();
  const started = performance.now();
  const body = await read(api);
  assert.ok(performance.now() - started < 30_000);
  const { roles, ...queue } = body.queue;
  assert.deepEqual(queue, { backend: 'redis', answers: false, dispatching: false });
  assert.equal(roles.import, 0);
  assert.ok(body.postgres.version);
  assert.doesNotMatch(JSON.stringify(ofStores(body)), /redis:|127\.0\.0\.1/);
});

test('contains no address of any store', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  const text = JSON.stringify(ofStores(await read(api)));
  const { hostname, port, password, pathname } = new URL(api.deps.config.DATABASE_URL);
  for (const part of [hostname, password, pathname, `:${port}`, api.deps.config.DATA_DIR, api.token]) {
    assert.ok(part === '' || !text.includes(part), part);
  }
});

test('settings that only the first start uses are named once they have no effect', async (t) => {
  const api = await startApi({ env: { ADMIN_EMAIL: 'ann@localhost', ADMIN_PASSWORD: 'correct horse' } });
  t.after(() => api.stop());
  assert.deepEqual((await read(api)).unusedSettings, []);
  api.deps.config.ADMIN_EMAIL = 'eve@localhost';
  const facts = await read(api);
  assert.deepEqual(facts.unusedSettings, ['ADMIN_EMAIL']);
  const findings = checkService(facts).filter(({ name }) => name === 'first start');
  assert.deepEqual(
    findings.map(({ state, message }) => [state, message]),
    [['warning', 'ADMIN_EMAIL has no effect: only the first start uses it, and no IAM_OWNER has this address now']],
  );
  const config = readConfig({ DATABASE_URL: api.deps.config.DATABASE_URL, BOOTSTRAP_TOKEN: 'x'.repeat(32) });
  assert.deepEqual((await localFacts(config)).unusedSettings, ['BOOTSTRAP_TOKEN']);
});

test('the start logs them', async (t) => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const api = await startApi();
  t.after(() => api.stop());
  const config = readConfig({
    DATABASE_URL: api.deps.config.DATABASE_URL,
    ENCRYPTION_KEY: api.deps.config.ENCRYPTION_KEY,
    BOOTSTRAP_TOKEN: 'x'.repeat(32),
  });
  await prepareInstance(requireStores(config), logger);
  const [line, ...others] = lines.map((text) => JSON.parse(text)).filter(({ level }) => level === 40);
  assert.deepEqual([line.setting, others], ['BOOTSTRAP_TOKEN', []]);
  assert.match(line.msg, /^BOOTSTRAP_TOKEN has no effect: .* `muster admin recover`/);
  assert.ok(!line.msg.includes('xxx'));
});
