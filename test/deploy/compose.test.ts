import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { readConfig } from '../../src/platform/config.ts';
import { requireStores } from '../../src/platform/lifecycle.ts';
import { API_OPTIONS, WORKER_OPTIONS } from '../../src/start/v8-options.ts';
import { composeFile, ENV_EXAMPLE, environmentOf, read, type Service, scripts } from './compose.ts';

const SECRETS = {
  POSTGRES_PASSWORD: 'a1b2c3',
  POSTGRES_ADMIN_PASSWORD: 'd4e5f6',
  REDIS_PASSWORD: 'a7b8c9',
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
};

test('docker-compose.yml matches the Compose Specification', () => {
  const schema = JSON.parse(read('test/deploy/compose-spec.json'));
  const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
  const { file } = composeFile(SECRETS);
  assert.ok(validate(file), JSON.stringify(validate.errors, null, 1));
  assert.equal(
    validate({ ...file, services: { api: { imag: 'muster' } } }),
    false,
    'the schema refuses an unknown key',
  );
});

test('each secret is required by name, and the example names every setting', () => {
  for (const name of Object.keys(SECRETS)) {
    const others = { ...SECRETS, [name]: undefined };
    assert.throws(() => composeFile(others), { message: `${name}: set it in .env, see deploy/env.example` });
  }
  const { names } = composeFile(SECRETS);
  assert.deepEqual([...names].sort(), [...read(ENV_EXAMPLE).matchAll(/^#?([A-Z_]+)=/gm)].map((m) => m[1]).sort());
});

test('the token of the first administrator can be dropped when it is deleted', () => {
  for (const BOOTSTRAP_TOKEN of ['b'.repeat(40), '', undefined]) {
    const { services } = composeFile({ ...SECRETS, BOOTSTRAP_TOKEN }).file;
    for (const name of ['api', 'worker']) {
      const config = readConfig(environmentOf(services[name] as Service));
      assert.equal(config.BOOTSTRAP_TOKEN, BOOTSTRAP_TOKEN || undefined, name);
    }
  }
});

/** Settings that docker-compose.yml does not take from .env, and why. */
const EXCEPTED: Record<string, string> = {
  HOST: 'fixed in the image',
  PORT: 'fixed in the image; in .env it is the port on the machine',
  DATA_DIR: 'fixed in the image',
  HEALTH_PORT: 'fixed, as the health check of the worker asks it',
  METRICS_PORT: 'fixed, as Prometheus asks it',
  DATABASE_URL: 'leads to the PostgreSQL of the file',
  DATABASE_DIRECT_URL: 'the PostgreSQL of the file has no pooler',
  DATABASE_REPLICA_URL: 'the PostgreSQL of the file has no replica',
  REDIS_URL: 'leads to the Redis of the file',
  WORKERS: 'read by `npm start` only; in .env it is the number of containers',
  WORKER_ROLES: 'all workers of the file are alike, so they need all roles',
  QUIET: 'read by `npm start` only',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'has one valid value, which is the default',
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'has one valid value, which is the default',
};

test('every setting comes from .env, unless there is a reason', () => {
  const settings = [...read('src/platform/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map((m) => m[1] as string);
  assert.ok(settings.includes('DECRYPTION_KEYS') && settings.length > 60);
  const mine = Object.fromEntries(settings.map((name) => [name, `value of ${name}`]));
  const { services } = composeFile({ ...mine, ...SECRETS, ENCRYPTION_KEY: mine.ENCRYPTION_KEY }).file;
  for (const name of ['api', 'worker']) {
    const env = environmentOf(services[name] as Service);
    const missing = settings.filter((setting) => env[setting] !== (mine[setting] as string));
    assert.deepEqual(missing.sort(), Object.keys(EXCEPTED).sort());
  }
});

test('the administrator of PostgreSQL stays with PostgreSQL', () => {
  const { services } = composeFile(SECRETS).file;
  for (const [name, service] of Object.entries(services)) {
    assert.equal(JSON.stringify(service).includes(SECRETS.POSTGRES_ADMIN_PASSWORD), name === 'postgres', name);
  }
});

test('CA_FILE is mounted, and Node.js trusts it', () => {
  const mounted = (env: Record<string, string>) => {
    const api = composeFile({ ...SECRETS, ...env }).file.services.api as Service;
    return [api.volumes?.map((volume) => typeof volume === 'object' && volume.source), environmentOf(api)] as const;
  };
  const [sources, { NODE_EXTRA_CA_CERTS }] = mounted({ CA_FILE: './ca.crt' });
  assert.deepEqual([sources, NODE_EXTRA_CA_CERTS], [['./ca.crt'], '/etc/muster-ca.crt']);
  const [none, without] = mounted({});
  assert.deepEqual([none, without.NODE_EXTRA_CA_CERTS], [['/dev/null'], '']);
});

test('every container has a memory limit, logs of a bounded size, and an image of an exact version', () => {
  const { services } = composeFile(SECRETS).file;
  for (const [name, { mem_limit, logging, image }] of Object.entries(services)) {
    assert.match(mem_limit ?? '', /^\d+[mg]$/, name);
    assert.deepEqual([logging?.driver, Object.keys(logging?.options ?? {})], ['json-file', ['max-size', 'max-file']]);
    if (image !== 'muster') assert.match(image ?? '', /:v?\d+\.\d+(\.\d+)?$/, name);
  }
  const images = Object.fromEntries(Object.keys(services).map((name) => [name, services[name]?.image]));
  const chart = parse(read('deploy/helm/muster/values.yaml')).bundledStores;
  assert.deepEqual([chart.postgres.image, chart.redis.image], [images.postgres, images.redis]);
  const pinned = 'postgres:18.4@sha256:1234';
  assert.equal(composeFile({ ...SECRETS, POSTGRES_IMAGE: pinned }).file.services.postgres?.image, pinned);
  const { node } = JSON.parse(read('package.json')).devDependencies;
  assert.match(read('Dockerfile'), new RegExp(`^ARG NODE_IMAGE=docker\\.io/library/node:${node}-slim$`, 'm'));
  assert.ok(read('docker-compose.yml').includes(`\${NODE_IMAGE:-docker.io/library/node:${node}-slim}`));
});

test('api and worker run the same commands as the npm scripts', () => {
  const { services } = composeFile(SECRETS).file;
  for (const name of ['api', 'worker'] as const) {
    const service = services[name] as Service;
    const allocator = `MALLOC_ARENA_MAX=${environmentOf(service).MALLOC_ARENA_MAX}`;
    assert.equal(['env', allocator, ...(service.command ?? [])].join(' '), scripts()[name]);
    const options = name === 'api' ? API_OPTIONS : WORKER_OPTIONS;
    assert.deepEqual(service.command?.slice(1, -1), options, 'as `npm start` runs it');
  }
  const cmd = /^CMD (.*)$/m.exec(read('Dockerfile'))?.[1] as string;
  assert.deepEqual(JSON.parse(cmd), services.api?.command);
});

test('their settings are valid', () => {
  const { services } = composeFile(SECRETS).file;
  for (const name of ['api', 'worker'] as const) {
    const config = requireStores(readConfig(environmentOf(services[name] as Service)));
    assert.equal(config.DATABASE_URL, 'postgres://muster:a1b2c3@postgres:5432/muster');
    assert.equal(config.baseUrl, 'http://localhost:8080');
    assert.equal(config.REDIS_URL, 'redis://:a7b8c9@redis:6379');
    assert.ok(config.SMTP_URL);
  }
});

test('every service has a health check, and api and worker wait for healthy stores', () => {
  const { services } = composeFile(SECRETS).file;
  for (const [name, service] of Object.entries(services)) assert.ok(service.healthcheck?.test, name);
  for (const name of ['api', 'worker']) {
    const waits = services[name]?.depends_on ?? {};
    for (const store of ['postgres', 'redis', 'mail']) assert.equal(waits[store]?.condition, 'service_healthy');
    assert.equal(services[name]?.init, true);
  }
  assert.equal(services.worker?.deploy?.replicas, 2);
  assert.match(String(services.redis?.command), /--appendonly,yes,--maxmemory-policy,noeviction/);
  assert.match(String(services.postgres?.image), /^postgres:18/);
});

test('the image is built from existing files, does not run as root, and contains nothing else', () => {
  const dockerfile = read('Dockerfile');
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap((m) => (m[1] as string).split(' '));
  assert.deepEqual([...new Set(copied)].sort(), allowed.sort());
  for (const path of copied) assert.ok(existsSync(new URL(`../../${path}`, import.meta.url)), path);
  assert.match(dockerfile, /^USER 1000:1000$/m);
  assert.ok(
    readFileSync(new URL('../../.dockerignore', import.meta.url), 'utf8')
      .split('\n')
      .includes('*'),
  );
});
