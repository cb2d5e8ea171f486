import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { readConfig } from '../../src/platform/config.ts';
import { requireStores } from '../../src/platform/lifecycle.ts';
import { API_OPTIONS, WORKER_OPTIONS } from '../../src/start/v8-options.ts';
import { composeFile, ENV_EXAMPLE, environmentOf, read, type Service, scripts } from './compose.ts';

const SECRETS = {
  POSTGRES_PASSWORD: 'a1b2c3',
  POSTGRES_ADMIN_PASSWORD: 'd4e5f6',
  REDIS_PASSWORD: 'a7b8c9',
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  BOOTSTRAP_TOKEN: 'b'.repeat(40),
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
  assert.deepEqual([...names].sort(), [...read(ENV_EXAMPLE).matchAll(/^([A-Z_]+)=/gm)].map((m) => m[1]).sort());
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
