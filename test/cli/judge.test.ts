/** What the doctor concludes from the facts that a service reports. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Diagnostics } from '../../src/contract/diagnostics.ts';
import { type Finding, size } from '../../src/contract/finding.ts';
import { checkKey, checkLimits, checkMail, checkReplica, checkVersions } from '../../src/contract/findings.ts';
import { checkConnections, checkPostgres, checkQueue } from '../../src/contract/store-findings.ts';

const GOOD: Diagnostics = {
  version: '1.2.3',
  node: '24.0.0',
  postgres: {
    version: '18.4',
    connections: { used: 41, max: 197 },
    settings: { fsync: true, fullPageWrites: true, synchronousCommit: 'on' },
    databaseBytes: 5_000_000,
    migrations: { applied: 12, known: 12 },
    server: {
      encoding: 'UTF8',
      overridden: [],
      timeouts: { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0 },
      autovacuum: true,
      sharedBuffersBytes: 1_073_741_824,
      maxWalBytes: 2 ** 30,
      sharesSessions: false,
    },
  },
  queue: {
    backend: 'redis',
    answers: true,
    jobs: { imports: 3, mails: 0 },
    workers: { imports: 2, mails: 1 },
    roles: { import: 2, dispatch: 1, rescue: 1, maintenance: 1, mail: 1, webhooks: 1, convert: 1 },
    dispatching: true,
    redis: {
      version: 'Redis 7.2.4',
      appendOnly: true,
      maxmemoryPolicy: 'noeviction',
      maxmemory: 0,
      usedMemory: 1,
      failsToSave: false,
    },
  },
  mail: { transport: 'smtp', smtp: { answers: true }, pending: 3, failedLastWeek: 0 },
  encryptionKey: { opensSigningKeys: true },
  limits: {
    maxImportBytes: 2 ** 31,
    maxImportTimeout: '24h',
    backlog: 0,
    maxBacklog: 100,
    requestsPerSecond: 1000,
    loginsPerMinute: 600,
  },
};

const all = (facts: Diagnostics): Finding[] => [
  checkVersions(facts, '1.2.3'),
  ...checkPostgres(facts.postgres),
  ...checkReplica(facts.replica),
  ...checkQueue(facts.queue),
  ...checkMail(facts.mail),
  checkKey(facts),
  checkLimits(facts),
];

test('a healthy service has only good findings', () => {
  const findings = all(GOOD);
  assert.deepEqual(
    findings.map(({ name, state }) => [name, state]),
    [
      ['version', 'ok'],
      ['postgresql', 'ok'],
      ['redis', 'ok'],
      ['workers', 'ok'],
      ['mail', 'ok'],
      ['encryption key', 'ok'],
      ['limits', 'ok'],
    ],
  );
  assert.equal(findings[1]?.message, 'version 18.4, 41 of 197 connections in use, 4.8 MiB');
});

const { postgres, queue, mail } = GOOD;
const { server } = postgres;
const none = server.timeouts;
/** A server that differs from a good one. */
const withServer = (change: Partial<typeof server>) => ({
  postgres: { ...postgres, server: { ...server, ...change } },
});
const redis = queue.redis as NonNullable<typeof queue.redis>;
const evicting = { ...redis, maxmemoryPolicy: 'allkeys-lru' };
const withNodes = (...redisNodes: NonNullable<typeof queue.redisNodes>) => ({ queue: { ...queue, redisNodes } });
const CASES: [what: string, Partial<Diagnostics>, name: string, state: string, words: RegExp][] = [
  ['another version', { version: '1.2.4' }, 'version', 'warning', /1\.2\.4/],
  ['an old PostgreSQL', { postgres: { ...postgres, version: '14.9' } }, 'postgresql', 'problem', /too old/],
  [
    'missing migrations',
    { postgres: { ...postgres, migrations: { applied: 10, known: 12 } } },
    'migrations',
    'problem',
    /2 migrations of 12/,
  ],
  [
    'an older program',
    { postgres: { ...postgres, migrations: { applied: 13, known: 12 } } },
    'migrations',
    'problem',
    /older program/,
  ],
  [
    'a database without durability',
    { postgres: { ...postgres, settings: { fsync: false, fullPageWrites: true, synchronousCommit: 'off' } } },
    'postgresql',
    'warning',
    /^fsync=off, synchronous_commit=off:/,
  ],
  [
    'few connections left',
    { postgres: { ...postgres, connections: { used: 60, max: 97 } } },
    'postgresql',
    'warning',
    /60 of 97/,
  ],
  ['another encoding', withServer({ encoding: 'LATIN1' }), 'postgresql', 'problem', /LATIN1.*template0/],
  ['a pooler by transaction', withServer({ sharesSessions: true }), 'postgresql', 'problem', /pool_mode = session/],
  [
    'settings that a pooler carried over',
    withServer({ sharesSessions: true, overridden: ['jit=on'] }),
    'postgresql',
    'problem',
    /pool_mode = session/,
  ],
  [
    'statements that are JIT-compiled',
    withServer({ overridden: ['jit=on'] }),
    'postgresql',
    'warning',
    /^jit=on.*DATABASE_URL/,
  ],
  [
    'a time limit of the role',
    withServer({ timeouts: { ...none, statement_timeout: 5000 } }),
    'postgresql',
    'warning',
    /statement_timeout is 5000 ms.*set statement_timeout = 0/,
  ],
  [
    'connections that end while they are pooled',
    withServer({ timeouts: { ...none, idle_session_timeout: 2000 } }),
    'postgresql',
    'warning',
    /idle_session_timeout is 2000 ms/,
  ],
  ['autovacuum off', withServer({ autovacuum: false }), 'postgresql', 'warning', /autovacuum = on/],
  ['few buffers', withServer({ sharedBuffersBytes: 2 ** 24 }), 'postgresql', 'warning', /shared_buffers is 16 MiB/],
  [
    'a write-ahead log that is soon full',
    withServer({ maxWalBytes: 64 * 2 ** 20 }),
    'postgresql',
    'warning',
    /^max_wal_size is 64.*max_wal_size = 4GB/,
  ],
  [
    'a queue that is down',
    { queue: { backend: 'redis', answers: false, roles: queue.roles, dispatching: false } },
    'queue',
    'problem',
    /Redis/,
  ],
  [
    'a full memory',
    { queue: { ...queue, redis: { ...redis, maxmemory: 2 ** 20, usedMemory: 2 ** 20 } } },
    'redis',
    'problem',
    /memory is full \(1\.0 MiB of 1\.0 MiB\)/,
  ],
  [
    'a disk that takes nothing',
    { queue: { ...queue, redis: { ...redis, failsToSave: true } } },
    'redis',
    'problem',
    /cannot save/,
  ],
  [
    'jobs that may be evicted',
    { queue: { ...queue, redis: { ...redis, maxmemoryPolicy: 'allkeys-lru', maxmemory: 1 } } },
    'redis',
    'problem',
    /allkeys-lru/,
  ],
  [
    'jobs that may be evicted, without a memory limit',
    { queue: { ...queue, redis: { ...redis, maxmemoryPolicy: 'allkeys-lru' } } },
    'redis',
    'warning',
    /allkeys-lru/,
  ],
  [
    'no append-only file',
    { queue: { ...queue, redis: { ...redis, appendOnly: false } } },
    'redis',
    'warning',
    /append-only/,
  ],
  [
    'a master of several that does not answer',
    withNodes({ role: 'master', answers: false }, { role: 'master', answers: true, facts: redis }),
    'redis',
    'problem',
    /^master 1 does not answer/,
  ],
  [
    'a replica that may evict jobs',
    withNodes({ role: 'master', answers: true, facts: redis }, { role: 'replica', answers: true, facts: evicting }),
    'redis',
    'warning',
    /^replica 2: maxmemory-policy is allkeys-lru/,
  ],
  [
    'Sentinels without a replica',
    withNodes({ role: 'master', answers: true, facts: redis }, ...Array(3).fill({ role: 'sentinel', answers: true })),
    'redis',
    'warning',
    /has no replica/,
  ],
  [
    'a single Sentinel',
    withNodes(
      { role: 'master', answers: true, facts: redis },
      { role: 'replica', answers: true, facts: redis },
      { role: 'sentinel', answers: true },
    ),
    'redis',
    'warning',
    /names 1 Sentinel;/,
  ],
  [
    'no import worker',
    { queue: { ...queue, workers: { imports: 0, mails: 1 } } },
    'workers',
    'problem',
    /imported users/,
  ],
  [
    'no mail worker',
    { queue: { ...queue, workers: { imports: 1, mails: 0 } } },
    'workers',
    'problem',
    /no worker sends mails/,
  ],
  ['no dispatcher', { queue: { ...queue, dispatching: false } }, 'workers', 'problem', /no worker dispatches/],
  [
    'no worker that removes expired data',
    { queue: { ...queue, roles: { ...queue.roles, maintenance: 0 } } },
    'workers',
    'warning',
    /no worker has the role maintenance: expired data is not removed/,
  ],
  ['a replica that is down', { replica: { answers: false } }, 'replica', 'warning', /does not answer/],
  [
    'a promoted replica',
    { replica: { answers: true, isReplica: false, lagBytes: 0, lagSeconds: 0 } },
    'replica',
    'warning',
    /not a replica/,
  ],
  [
    'a replica that is behind',
    { replica: { answers: true, isReplica: true, lagBytes: 5 * 2 ** 20, lagSeconds: 61.2 } },
    'replica',
    'warning',
    /5\.0 MiB and 61 s behind/,
  ],
  ['unknown workers', { queue: { ...queue, workers: undefined } }, 'workers', 'skipped', /does not report/],
  [
    'a mail server that is down',
    { mail: { ...mail, smtp: { answers: false, reason: 'ECONNREFUSED' } } },
    'mail',
    'problem',
    /ECONNREFUSED.*3 waiting/,
  ],
  ['mails as files', { mail: { transport: 'files', pending: 0, failedLastWeek: 0 } }, 'mail', 'warning', /files/],
  ['undeliverable mails', { mail: { ...mail, failedLastWeek: 5 } }, 'mail', 'warning', /^5 mails/],
  ['another key', { encryptionKey: { opensSigningKeys: false } }, 'encryption key', 'problem', /ENCRYPTION_KEY/],
  ['a long backlog', { limits: { ...GOOD.limits, backlog: 95 } }, 'limits', 'warning', /soon be refused/],
];

for (const [what, change, name, state, words] of CASES) {
  test(`${what}: ${state}, and no other finding`, () => {
    const wrong = all({ ...GOOD, ...change }).filter((finding) => finding.state !== 'ok');
    assert.deepEqual(
      wrong.map((finding) => [finding.name, finding.state]),
      [[name, state]],
    );
    assert.match(`${wrong[0]?.message} ${wrong[0]?.advice}`, words);
    assert.equal(Boolean(wrong[0]?.advice), state !== 'skipped');
  });
}

test('a queue in PostgreSQL and a backlog without a limit are fine', () => {
  const inPostgres = { ...queue, backend: 'postgres' as const, redis: undefined };
  const limits = { ...GOOD.limits, backlog: 5000, maxBacklog: 0 };
  assert.ok(all({ ...GOOD, queue: inPostgres, limits }).every(({ state }) => state === 'ok'));
});

test('time limits that cut nothing off are fine', () => {
  const timeouts = { statement_timeout: 60_000, transaction_timeout: 0, idle_session_timeout: 600_000 };
  const facts = { ...GOOD, ...withServer({ timeouts }) };
  assert.ok(all(facts).every(({ state }) => state === 'ok'));
});

test('a service that is older than this command reports less about its server, which is fine', () => {
  const { server: _, ...older } = postgres;
  assert.ok(all({ ...GOOD, postgres: older as typeof postgres }).every(({ state }) => state === 'ok'));
});

test('the pools of all processes must fit into max_connections', () => {
  const judged = (max: number, backend: 'redis' | 'postgres', workers: number) =>
    checkConnections({ used: 1, max }, { backend, workers }).map(({ state, advice }) => [state, advice]);
  assert.deepEqual(judged(97, 'redis', 4), []);
  assert.deepEqual(judged(97, 'postgres', 1), []);
  assert.deepEqual(judged(97, 'postgres', 2), [['warning', 'Set max_connections = 200, or run fewer processes.']]);
});

test('sizes are shown in a fitting unit', () => {
  assert.deepEqual([0, 1, 1023, 1024, 1536, 10 * 2 ** 20, 2 ** 31, 2 ** 50].map(size), [
    ...['0 bytes', '1 bytes', '1023 bytes', '1.0 KiB', '1.5 KiB', '10 MiB', '2.0 GiB', '1024 TiB'],
  ]);
});
