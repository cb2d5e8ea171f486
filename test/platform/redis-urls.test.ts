/** REDIS_URL: which forms it may have, and which servers it then names. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { parseRedisUrls } from '../../src/platform/redis-urls.ts';

test('a URL of one server, or the path of its socket, is passed on as it is', () => {
  for (const url of ['redis://a', 'rediss://u:p%20,x@a:1/2', 'unix:///tmp/a.sock', '/tmp/my folder/a.sock']) {
    assert.deepEqual(parseRedisUrls(url), [{ kind: 'single', url }]);
  }
});

test('several URLs are separated by spaces or commas', () => {
  const kinds = (text: string) => parseRedisUrls(text).map(({ kind }) => kind);
  assert.deepEqual(kinds('redis://a,redis://b rediss://c,/tmp/s'), ['single', 'single', 'single', 'single']);
  assert.deepEqual(kinds('redis+cluster://a,b:1 redis+sentinel://c,d/m'), ['cluster', 'sentinel']);
});

test('a Cluster is named by some of its nodes', () => {
  assert.deepEqual(parseRedisUrls('rediss+cluster://ann:p%40ss:x@a:7001,[::1]:7002,c'), [
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7001 },
        { host: '::1', port: 7002 },
        { host: 'c', port: 6379 },
      ],
      login: { username: 'ann', password: 'p@ss:x' },
      tls: true,
    },
  ]);
});

test('a master is named by its Sentinels', () => {
  assert.deepEqual(parseRedisUrls('redis+sentinel://:secret@a,b:7/mymaster/2?sentinel_password=other'), [
    {
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 7 },
      ],
      master: 'mymaster',
      db: 2,
      login: { password: 'secret' },
      sentinelLogin: { password: 'other' },
      tls: false,
    },
  ]);
});

test('other values are refused by name, without the value', () => {
  const KEY = { ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') };
  for (const [env, says] of [
    [{ REDIS_URL: 'http://hunter2@a' }, /REDIS_URL: must start with redis:\/\//],
    [{ REDIS_URL: 'redis+sentinel://:hunter2@a,b' }, /REDIS_URL: must name the master/],
    [{ REDIS_URL: 'redis+sentinel://:hunter2@a/m/x' }, /REDIS_URL: must name the master/],
    [{ REDIS_URL: 'redis+sentinel://:hunter2@a/m?password=b' }, /REDIS_URL: must have only the options sentinel_/],
    [{ REDIS_URL: 'redis+cluster://:hunter2@a/0' }, /REDIS_URL: must name only hosts/],
    [{ REDIS_URL: 'redis+cluster://:hunter2@a:70000' }, /REDIS_URL: must name each host/],
    [{ REDIS_URL: 'redis+cluster://:hunter2%zz@a' }, /REDIS_URL: must encode/],
    [{ REDIS_URL: 'redis+cluster:///hunter2' }, /REDIS_URL: must have the form redis\+cluster/],
    [{ QUEUE_SHARDS: '2' }, /QUEUE_SHARDS: must be 1 without REDIS_URL/],
    [{ QUEUE_SHARDS: '33', REDIS_URL: 'redis://a' }, /QUEUE_SHARDS: must be a whole number from 1 to 32/],
    [{ REDIS_URL: Array.from({ length: 33 }, (_, n) => `redis://a${n}`).join(' ') }, /REDIS_URL: must have at most 32/],
  ] as const) {
    assert.throws(
      () => readConfig({ ...KEY, ...env }),
      (error: Error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      },
    );
  }
});
