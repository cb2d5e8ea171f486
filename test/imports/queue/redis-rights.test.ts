/** A Redis whose users have rights (ACL): the documented ones are enough, and each missing one is named. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { connectRedis } from '../../../src/imports/queue/redis.ts';
import { missingRights } from '../../../src/imports/queue/redis-rights.ts';
import { parseRedisUrls } from '../../../src/platform/redis-urls.ts';
import { bulk, people } from '../../support/imports/bodies.ts';
import { entry } from '../../support/imports/imports.ts';
import { runMuster } from '../../support/processes/muster.ts';
import { must, startService } from '../../support/processes/service.ts';
import { redisProgram, requireOrSkip, startRedis, type TestRedis } from '../../support/stores/redis.ts';

/** The rights that docs/operations.md grants, for this prefix. */
async function documented(prefix: string): Promise<string[]> {
  const page = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  const [, rights] = /^user muster on >PASSWORD (.*)$/m.exec(page) ?? [];
  assert.ok(rights, 'docs/operations.md has the rights');
  return rights.replaceAll('muster:', `${prefix}:`).split(' ');
}

async function withUser(t: TestContext, prefix: string, ...changes: string[]) {
  const redis = await startRedis(redisProgram());
  const admin = new Redis(redis.url);
  t.after(async () => {
    admin.disconnect();
  });
  const grant = async (...rights: string[]) => void (await admin.call('ACL', 'SETUSER', 'muster', ...rights));
  await grant('on', '>secret', ...(await documented(prefix)), ...changes);
  return { redis, admin, grant, url: redis.url.replace('redis://', 'redis://muster:secret@') };
}

function stopAfter(t: TestContext, redis: TestRedis): void {
  t.after(() => redis.stop());
}

test('the documented rights are enough for a whole import, and nothing else is tried', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const prefix = 'acl';
  const { redis, admin, url } = await withUser(t, prefix);
  const env = { QUEUE_PREFIX: prefix, RESCUE_AFTER_MS: '500' };
  const service = await startService(t, { backend: 'redis', redisUrl: url, env, onStopped: () => redis.stop() });
  const { orgId } = await service.newOrg();
  const plain = entry('plain', { hashedPassword: undefined, password: 'a plain one' });
  const mailed = entry('mailed', { email: { email: 'mailed@example.com' } });
  const ended = await service.imported(bulk(orgId, [...people('a', 300), plain, mailed]));
  assert.equal(ended.state, 'IMPORT_STATE_SUCCEEDED');
  const { importId } = (await must(service.importBody(bulk(orgId, people('b', 2000))))).body;
  await must(service.call('POST', `/admin/v1/imports/${importId}/_pause`, {}));
  await must(service.call('POST', `/admin/v1/imports/${importId}/_resume`, {}));
  await service.waitForEnd(importId);
  await must(service.call('GET', '/metrics'));
  assert.equal((await must(service.call('GET', '/readyz'))).body.status, 'ok');
  const { queue } = (await must(service.call('GET', '/admin/v1/diagnostics'))).body;
  assert.deepEqual([queue.answers, queue.missingRights, queue.workers.imports], [true, undefined, 1]);
  assert.deepEqual(await admin.call('ACL', 'LOG'), [], 'no command was refused');
  const rights = await documented(prefix);
  assert.ok(rights.includes('-@dangerous') && !rights.includes('+@all'));
});

test('each missing right is named', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const { redis, admin, grant, url } = await withUser(t, 'muster');
  stopAfter(t, redis);
  const client = connectRedis(parseRedisUrls(url)[0] as never, 1, { readyCheck: false });
  t.after(() => client.disconnect());
  const missing = () => missingRights(client, 'muster');
  assert.deepEqual(await missing(), []);
  for (const right of [
    'info',
    'client|list',
    'client|setname',
    'bzpopmin',
    'eval',
    'evalsha',
    'hincrby',
    'xadd',
    'zpopmin',
  ]) {
    await grant(`-${right}`);
    assert.deepEqual(await missing(), [right]);
    await grant(`+${right}`);
  }
  await grant('-info', '-rpush');
  assert.deepEqual(await missing(), ['info', 'rpush']);
  await grant('+info', '+rpush', 'resetkeys', '~other:*', '~{muster:*');
  assert.deepEqual(await missing(), ['~muster:*']);
  await grant('resetkeys', '~muster:*');
  assert.deepEqual(await missing(), ['~{muster:*']);
  await grant('~{muster:*');
  assert.deepEqual(await admin.keys('*'), [], 'nothing is left behind');
});

test('without +info the log stays JSON, and readiness, log and doctor name the right', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const { redis, grant, url } = await withUser(t, 'acl', '-info');
  const env = { QUEUE_PREFIX: 'acl' };
  const service = await startService(t, {
    backend: 'redis',
    redisUrl: url,
    env,
    ownProcesses: true,
    onStopped: () => redis.stop(),
  });
  const ready = await service.call('GET', '/readyz');
  assert.deepEqual(
    ready.body.failing?.map(({ part }: { part: string }) => part),
    ['queue'],
  );
  const output = service.processes.map((each) => each.output()).join('\n');
  const plain = output.split('\n').filter((line) => line && !line.startsWith('{'));
  assert.deepEqual(
    plain.filter((line) => !/[Tt]oken|^ {2}\S+$/.test(line)),
    [],
  );
  assert.match(output, /no permissions to run the 'info' command/);

  const { queue } = (await must(service.call('GET', '/admin/v1/diagnostics'))).body;
  assert.deepEqual(queue.missingRights, ['info']);
  const doctor = async (args: string[], given: Record<string, string>) => {
    const { stdout } = await runMuster(['doctor', ...args, '--json'], { env: given });
    const { findings } = JSON.parse(stdout) as { findings: { message: string; advice?: string }[] };
    return findings.map(({ message, advice }) => `${message}: ${advice}`).filter((text) => /redis/i.test(text));
  };
  const remote = await doctor([], { MUSTER_URL: service.url, MUSTER_TOKEN: service.token });
  const local = await doctor(['--local'], { DATABASE_URL: service.databaseUrl, REDIS_URL: url, ...env });
  for (const told of [remote, local]) {
    assert.equal(told.length, 1, told.join('\n'));
    assert.match(told[0] ?? '', /lacks rights in Redis: info: Grant them/);
  }
  const wrong = await doctor(['--local'], {
    DATABASE_URL: service.databaseUrl,
    REDIS_URL: url.replace('secret', 'wrong'),
    ...env,
  });
  assert.match(wrong.join(), /Check the user and the password in REDIS_URL/);

  await grant('+info');
  const { orgId } = await service.newOrg();
  assert.equal((await service.imported(bulk(orgId, people('a', 20)))).state, 'IMPORT_STATE_SUCCEEDED');
});
