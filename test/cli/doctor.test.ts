/** `muster doctor` against real services, healthy and broken. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Finding } from '../../src/contract/finding.ts';
import { migrateQueue } from '../../src/imports/queue/schema.ts';
import { reportWorker } from '../../src/imports/status/workers.ts';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { startDns } from '../support/dns.ts';
import { freePort } from '../support/free-port.ts';
import { type Finished, runMuster } from '../support/processes/muster.ts';
import { type Service, type ServiceOptions, startService } from '../support/processes/service.ts';
import { startMuster } from '../support/processes/terminal.ts';
import { findProgram, requireOrSkip } from '../support/runner/programs.ts';
import { startSmtp } from '../support/smtp.ts';
import { startTestServer, testDatabase } from '../support/stores/postgres.ts';
import { redisUrl, startRedis } from '../support/stores/redis.ts';
import { waitFor } from '../support/wait.ts';

interface Told {
  code: number;
  problems: number;
  warnings: number;
  findings: Finding[];
  /** The finding with this name. */
  of(name: string): Finding | undefined;
}

async function doctor(env: Record<string, string>, ...args: string[]): Promise<Told> {
  return toldBy(await runMuster(['doctor', '--json', ...args], { env }));
}

function toldBy({ code, stdout, stderr }: Finished): Told {
  assert.equal(stderr, '');
  const told = JSON.parse(stdout);
  return { code, ...told, of: (name) => told.findings.find((finding: Finding) => finding.name === name) };
}

const problems = ({ findings }: Told) => findings.filter(({ state }) => state === 'problem').map(({ name }) => name);
const ofService = ({ url, token }: Service) => ({ MUSTER_URL: url, MUSTER_TOKEN: token });

/** Starts a service whose BASE_URL is its real address. */
async function start(t: TestContext, options: ServiceOptions): Promise<Service> {
  const port = await freePort();
  const env = { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}`, ...options.env };
  return startService(t, { ...options, env });
}

test('a healthy service has no problems', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const service = await start(t, { backend: 'redis' });
  const workers = async () => (await doctor(ofService(service))).of('workers')?.state === 'ok';
  await waitFor(workers, { what: 'the worker to be seen' });
  const told = await doctor(ofService(service));
  assert.deepEqual([told.code, told.problems], [0, 0], JSON.stringify(told.findings));
  // The stores of the tests run without durability, which causes the warnings.
  assert.deepEqual(
    told.findings.map(({ name, state }) => `${name}: ${state}`),
    [
      'this command: ok',
      'service: ok',
      'tls: ok',
      'clock: ok',
      'ready: ok',
      'login: ok',
      'version: ok',
      'postgresql: warning',
      'postgresql: warning',
      'redis: warning',
      'workers: ok',
      'mail: ok',
      'proxy: ok',
      'encryption key: ok',
      'limits: ok',
    ],
  );
  const text = await runMuster(['doctor'], { env: ofService(service) });
  assert.equal(text.code, 0);
  assert.match(text.stdout, /^✔ this command: muster /);
  assert.match(text.stdout, /^! postgresql: fsync=off.*\n {4}→ Set them back/m);
  assert.match(text.stdout, /\n\n0 problems, 3 warnings\.\n$/);
  assert.ok(!text.stdout.includes(service.token));
});

test('a service without workers and with an unreachable mail server', async (t) => {
  const service = await start(t, { backend: 'postgres', workers: 0, env: { SMTP_URL: 'smtp://127.0.0.1:1' } });
  const told = await doctor(ofService(service));
  assert.equal(told.code, 1);
  assert.deepEqual(problems(told), ['workers', 'workers', 'workers', 'mail']);
  assert.match(told.of('workers')?.advice as string, /npm run worker/);
});

test('a service whose Redis is down', async (t) => {
  const program = findProgram('redis');
  if (!requireOrSkip(t, 'redis') || !program) return;
  const redis = await startRedis(program);
  const service = await start(t, { backend: 'redis', redisUrl: redis.url, workers: 0 });
  await redis.stop();
  const told = await doctor(ofService(service));
  assert.equal(told.code, 1);
  assert.deepEqual(problems(told), ['queue']);
  assert.match(told.of('queue')?.advice as string, /REDIS_URL/);
});

test('a service whose database is down', async (t) => {
  const server = await startTestServer();
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on('error', () => {});
  await migrate(pool);
  await migrateQueue(pool);
  const database = { url: server.url, pool };
  const service = await start(t, { backend: 'postgres', workers: 0, database, onStopped: () => pool.end() });
  await server.stop();
  const told = await doctor(ofService(service));
  assert.equal(told.code, 1);
  assert.deepEqual(problems(told), ['ready', 'login']);
  assert.match(told.of('ready')?.message as string, /is not ready; these parts do not work: database/);
  assert.match(told.of('ready')?.advice as string, /PostgreSQL/);
});

test('what a worker reports of itself, and its clock', async (t) => {
  const service = await start(t, { backend: 'postgres', workers: 0 });
  const own = {
    id: 'w',
    host: 'far',
    pid: 7,
    version: '1.0.0',
    schema: 219,
    roles: [],
    backend: 'postgres',
    shards: 1,
  } as const;
  const idle = { isStopping: false, importJobs: 0, mailJobs: 0, usersPerSecond: 0 };
  await reportWorker(service.pool, { ...own, roles: [] }, { ...idle, failing: ['mails queue', 'clock'] }, 1);
  const { findings } = await doctor(ofService(service));
  const messages = findings.map(({ message }) => message);
  assert.ok(messages.includes('the worker 7 on far has another time than PostgreSQL, by more than 5 s'));
  assert.ok(messages.includes('the worker 7 on far reports that these parts fail: mails queue'));
});

test('the identity of the caller', async (t) => {
  const service = await start(t, { backend: 'postgres', workers: 0, env: { IDP_ALLOW_PRIVATE: 'true' } });
  const as = (token: string) => doctor({ MUSTER_URL: service.url, MUSTER_TOKEN: token });
  const org = await service.newOrg();

  await t.test('an owner of an organization sees where they may import, and nothing about the stores', async () => {
    const told = await as(org.ownerToken);
    assert.equal(told.code, 0);
    assert.match(told.of('login')?.message as string, new RegExp(`may import into ${org.orgId} \\(Acme-`));
    assert.equal(told.findings.at(-1)?.state, 'skipped');
  });
  await t.test('an owner hears whether the providers of their organization answer', async () => {
    const body = {
      type: 'oidc',
      name: 'Acme SSO',
      issuer: 'http://127.0.0.1:1/',
      clientId: 'muster',
      clientSecret: 's',
    };
    const answer = await fetch(`${service.url}/management/v1/idps`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.ownerToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, await answer.text());
    const told = await as(org.ownerToken);
    const found = told.of('identity providers');
    assert.equal(found?.state, 'warning');
    assert.match(found?.message ?? '', new RegExp(`^Acme SSO of Acme-.*${org.orgId}\\): The metadata`));
    const outsider = await as((await service.newOrg()).ownerToken);
    assert.equal(outsider.of('identity providers'), undefined);
  });
  await t.test('a user without the role may not import anywhere', async () => {
    const { token } = await service.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    const told = await as(token);
    assert.deepEqual([told.code, told.warnings], [0, 1]);
    assert.match(told.of('login')?.message as string, /may not import into any organization/);
  });
  await t.test('an invalid token and a missing one are problems with advice', async () => {
    assert.match((await as('x'.repeat(43))).of('login')?.advice as string, /muster login/);
    const nobody = await doctor({ MUSTER_URL: service.url });
    assert.deepEqual([nobody.code, problems(nobody)], [1, ['login']]);
    assert.match(nobody.of('login')?.message as string, /You are not logged in/);
  });
  await t.test('a service whose BASE_URL differs from the URL in use is a warning', async () => {
    const told = await doctor({ ...ofService(service), MUSTER_URL: service.url.replace('127.0.0.1', 'localhost') });
    assert.match(told.of('address')?.advice as string, new RegExp(`--url ${service.url}`));
  });
});

test('a URL with nothing, another server, or a service whose clock is wrong', async (t) => {
  const listen = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    t.after(() => closed(server));
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const at = (url: string) => doctor({ MUSTER_URL: url });

  const nothing = await at(`http://127.0.0.1:${await freePort()}`);
  assert.deepEqual([nothing.code, problems(nothing)], [1, ['service']]);
  assert.match(nothing.of('service')?.message as string, /ECONNREFUSED/);
  const nameless = await at('http://muster.invalid');
  assert.match(nameless.of('service')?.message as string, /ENOTFOUND|EAI_AGAIN/);
  const other = await at(await listen((_req, res) => res.end('<h1>Welcome to nginx</h1>')));
  assert.match(other.of('service')?.message as string, /is not Muster/);
  const silent = await at(await listen(() => {}));
  assert.match(silent.of('service')?.message as string, /does not answer within 5 s/);

  for (const [seconds, state] of [
    [0, 'ok'],
    [-15, 'warning'],
    [600, 'problem'],
  ] as const) {
    const url = await listen((_req, res) => {
      res.setHeader('date', new Date(Date.now() + seconds * 1000).toUTCString());
      res.setHeader('content-type', 'application/json').end('{"status":"ok"}');
    });
    const clock = (await at(url)).of('clock');
    assert.equal(clock?.state, state, clock?.message);
    if (seconds)
      assert.match(clock?.message as string, new RegExp(`${Math.abs(seconds)} s|${Math.abs(seconds) - 1} s`));
  }
});

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
}

const run = promisify(execFile);

test('certificates', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-tls-'));
  t.after(() => rm(folder, { recursive: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const make = (days: number) => {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const files = ['-keyout', key, '-out', cert, '-days', String(days)];
    return run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject]);
  };
  const isThere = await make(100).then(
    () => true,
    () => false,
  );
  if (!isThere) return t.skip('openssl is not on this machine');

  const at = async (host: string, env: Record<string, string>) => {
    const server = createTlsServer({ key: await readFile(key), cert: await readFile(cert) }, (_req, res) =>
      res.setHeader('content-type', 'application/json').end('{"status":"ok"}'),
    ).listen(0);
    t.after(() => closed(server as unknown as Server));
    await once(server, 'listening');
    const url = `https://${host}:${(server.address() as AddressInfo).port}`;
    // Node.js reads NODE_EXTRA_CA_CERTS when it starts.
    return toldBy(await startMuster(['doctor', '--json'], { env: { MUSTER_URL: url, ...env } }).finished);
  };
  const trusted = { NODE_EXTRA_CA_CERTS: cert };
  const stranger = await at('localhost', {});
  assert.deepEqual(problems(stranger), ['service']);
  assert.match(stranger.of('service')?.advice as string, /NODE_EXTRA_CA_CERTS/);
  assert.match((await at('127.0.0.1', trusted)).of('service')?.advice as string, /another name/);
  assert.match((await at('localhost', trusted)).of('tls')?.message as string, /valid for 99 days|valid for 100 days/);
  await make(3);
  const soon = (await at('localhost', trusted)).of('tls');
  assert.deepEqual([soon?.state, /expires in [23] days/.test(soon?.message as string)], ['warning', true]);
});

test('--local checks from the server’s machine, with its settings', async (t) => {
  const smtp = await startSmtp();
  t.after(() => smtp.stop());
  const dns = await startDns({
    'good.example': ['v=spf1 ip4:192.0.2.1 -all'],
    's1._domainkey.good.example': ['v=DKIM1; p=AAAA'],
    '_dmarc.good.example': ['v=DMARC1; p=quarantine'],
    'two.example': ['v=spf1 -all', 'v=spf1 mx -all'],
  });
  t.after(() => dns.stop());
  const database = await testDatabase();
  t.after(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'muster-data-'));
  t.after(() => rm(folder, { recursive: true }));
  const good = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: smtp.url,
    MAIL_FROM: 'Muster <no-reply@good.example>',
    MAIL_DKIM_SELECTOR: 's1',
    MAIL_DNS_SERVERS: dns.address,
    DATA_DIR: folder,
  };
  const local = (env: Record<string, string>) => doctor(env, '--local');

  await t.test('a correct setup has no problems', async () => {
    const redis: Record<string, string> = redisUrl() ? { REDIS_URL: redisUrl() as string } : {};
    const told = await local({ ...good, ...redis });
    assert.deepEqual([told.code, problems(told)], [0, []], JSON.stringify(told.findings));
    const names = told.findings.map(({ name }) => name);
    const queue = redisUrl() ? 'redis' : 'queue';
    assert.deepEqual(names, [
      ...[
        'this command',
        'configuration',
        'postgresql',
        'postgresql',
        'encryption key',
        queue,
        'mail',
        'spf',
        'dkim',
        'dmarc',
        'data folder',
      ],
    ]);
    assert.match(told.of('data folder')?.message as string, / free$/);
  });
  await t.test('what DNS lacks of the sender is named, with what to put there', async () => {
    const told = await local({ ...good, MAIL_FROM: 'no-reply@two.example' });
    assert.deepEqual([told.code, problems(told)], [1, ['spf', 'dkim']]);
    assert.match(told.of('spf')?.message as string, /two\.example has several SPF records/);
    assert.match(told.of('dmarc')?.advice as string, /TXT record to _dmarc\.two\.example: "v=DMARC1; p=none;/);
  });
  await t.test('every invalid setting is named', async () => {
    const told = await local({ ...good, PORT: 'eighty', REDIS_URL: 'mysql://x', WORKERS: '-1' });
    assert.deepEqual([told.code, problems(told)], [1, ['configuration']]);
    for (const name of ['PORT', 'REDIS_URL', 'WORKERS']) {
      assert.match(told.of('configuration')?.message as string, new RegExp(`^ {2}${name}: `, 'm'));
    }
  });
  await t.test('a setting that is valid but not meant so is a warning', async () => {
    const warned = async (env: Record<string, string>) => {
      const { findings } = await local({ ...good, ...env });
      return findings.filter(({ state }) => state === 'warning').map(({ message, advice }) => `${message}. ${advice}`);
    };
    const usual = await warned({});
    const added = async (env: Record<string, string>) => (await warned(env)).filter((text) => !usual.includes(text));
    for (const [name, meant] of [
      ['REDIS_URI', 'REDIS_URL'],
      ['TRUST_PROXIES', 'TRUST_PROXY'],
      ['MAILFROM', 'MAIL_FROM'],
      ['WORKER_ROLE', 'WORKER_ROLES'],
      ['rate_limit_login', 'RATE_LIMIT_LOGINS'],
      ['MUSTER_DATABASE_URL', 'DATABASE_URL'],
    ] as const) {
      const [text, ...more] = await added({ [name]: 'x' });
      assert.deepEqual(more, []);
      assert.match(text ?? '', new RegExp(`^${name} is set, but no setting .* Did you mean ${meant}\\?`));
    }
    const innocent = {
      MUSTER_URL: 'https://a.example',
      MUSTER_PORT: 'tcp://10.0.0.1:8080',
      REDIS_PORT: '1',
      PGHOST: 'x',
    };
    assert.deepEqual(
      await added({ ...innocent, HOSTNAME: 'a', OTEL_EXPORTER_OTLP_HEADERS: 'a=b', POSTGRES_PASSWORD: 'x' }),
      [],
    );
    assert.match(
      (await added({ BASE_URL: 'http://id.example.com' }))[0] ?? '',
      /BASE_URL is http:.* can be intercepted/,
    );
    assert.deepEqual(await added({ BASE_URL: 'http://localhost:8080' }), []);
    assert.match((await added({ HOST: '0.0.0.0' }))[0] ?? '', /BASE_URL is not set, .* lead to http:\/\/localhost/);
    assert.match((await added({ MAIL_FROM: '' })).join(), /MAIL_FROM is Muster <no-reply@localhost>/);
    assert.match(
      (await local({ ...good, MAIL_FROM: 'nobody' })).of('configuration')?.message as string,
      /MAIL_FROM: must be an address/,
    );
  });
  await t.test('stores and a mail server that are down are problems, whose texts contain no password', async () => {
    const told = await local({
      DATABASE_URL: 'postgres://muster:hunter2@127.0.0.1:1/muster',
      REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
      SMTP_URL: 'smtp://muster:hunter2@127.0.0.1:1',
      DATA_DIR: '/dev/null/muster',
    });
    assert.equal(told.code, 1);
    assert.deepEqual(problems(told), ['encryption key', 'postgresql', 'redis', 'mail', 'data folder']);
    assert.ok(!JSON.stringify(told.findings).includes('hunter2'));
    assert.match(told.of('redis')?.message as string, /ECONNREFUSED/);
  });
  await t.test('a key that does not belong to this database', async () => {
    await database.pool.query(`insert into signing_keys (id, sealed_jwk, signs_from) values ('k', 'AAAA', now())`);
    assert.deepEqual(problems(await local(good)), ['encryption key']);
    await database.pool.query('delete from signing_keys');
  });
  await t.test('a key of this database that is not set', async () => {
    await database.pool.query(`insert into encryption_keys (id) values ('0badcafe')`);
    const told = await local(good);
    assert.deepEqual(problems(told), ['encryption key']);
    assert.match(told.of('encryption key')?.message as string, /with the id 0badcafe, which is not set/);
    await database.pool.query('delete from encryption_keys');
  });
  await t.test('a database that was never migrated', async () => {
    const { rows } = await database.pool.query('select current_database() as name');
    const empty = `${rows[0].name}_empty`;
    await database.pool.query(`create database ${empty}`);
    t.after(() => database.pool.query(`drop database ${empty}`).catch(() => {}));
    const told = await local({ ...good, DATABASE_URL: database.url.replace(rows[0].name, empty) });
    assert.deepEqual(problems(told), ['migrations']);
    assert.match(told.of('migrations')?.advice as string, /it applies them/);
  });
  await t.test('the embedded database, running and stopped', async (t) => {
    const dataDir = join(folder, 'embedded');
    // PostgreSQL runs as another user where the tests run as root.
    await chmod(folder, 0o755);
    const server = await startEmbeddedPostgres({ dataDir });
    const pool = new pg.Pool({ connectionString: server.url });
    t.after(() => server.stop());
    await migrate(pool).finally(() => pool.end());
    const running = await local({ DATA_DIR: dataDir });
    assert.deepEqual([running.code, running.of('postgresql')?.state], [0, 'ok'], JSON.stringify(running.findings));
    assert.match(running.of('postgresql')?.message as string, /^version \d/);
    await server.stop();
    assert.match((await local({ DATA_DIR: dataDir })).of('postgresql')?.message as string, /while `npm start` does/);
  });
  await t.test('the embedded database, not created yet', async () => {
    const told = await local({ DATA_DIR: join(folder, 'not', 'there') });
    assert.equal(told.code, 0);
    assert.match(told.of('postgresql')?.message as string, /npm start/);
    assert.match(told.of('mail')?.message as string, /kept as files/);
  });
});
