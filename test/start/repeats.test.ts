/** Repeated warnings are counted instead of written; all other lines are written. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import test, { type TestContext } from 'node:test';
import { openLogger } from '../../src/platform/logger.ts';

function opened(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let text = '';
  const lines = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  const logger = openLogger({ level: 'info', name: 'test' }, lines);
  const written = () => {
    const since = text.split('\n').filter(Boolean);
    text = '';
    return since.map((line) => JSON.parse(line) as { msg: string; repeats?: number; err?: { message: string } });
  };
  return { logger, written };
}

const away = (job: number) => new Error(`could not renew lock for job i12-0-${job}`);

test('an error that occurs ten thousand times is written once, then every ten seconds with its count', (t) => {
  const { logger, written } = opened(t);
  for (let i = 0; i < 10_000; i++) logger.child({ loop: 1 }).warn({ err: away(i) }, 'queue');
  const [first, ...more] = written();
  assert.deepEqual(
    [first?.msg, first?.repeats, first?.err?.message, more.length],
    ['queue', undefined, away(0).message, 0],
  );
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    written().map(({ msg, repeats }) => [msg, repeats]),
    [['queue', 9999]],
  );
  logger.warn({ err: away(1) }, 'queue');
  assert.equal(written().length, 0);
  t.mock.timers.tick(10_000);
  assert.equal(written()[0]?.repeats, 1);
  t.mock.timers.tick(10_000);
  logger.warn({ err: away(2) }, 'queue');
  assert.equal(written()[0]?.repeats, undefined);
});

test('different errors are all written, but not a flood of them', (t) => {
  const { logger, written } = opened(t);
  logger.warn({ err: Object.assign(new Error('broken'), { code: '57P01' }) }, 'queue');
  logger.warn({ err: Object.assign(new Error('broken'), { code: '57P02' }) }, 'queue');
  logger.warn({ err: new Error('broken') }, 'a round failed');
  logger.warn({ err: new Error('broken'), loop: 'rescuer' }, 'a round failed');
  assert.equal(written().length, 4);
  const letters = 'ghijklmnopqrstuvwxyz';
  for (const a of letters) for (const b of letters) logger.warn({ err: new Error(a + b) }, 'queue');
  const flood = written();
  assert.ok(flood.length < 60 && flood.length > 40, `${flood.length} lines`);
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    written().map(({ repeats }) => repeats),
    [400 - flood.length],
  );
});

test('lines at level error, and warnings without an error, are all written', (t) => {
  const { logger, written } = opened(t);
  for (let i = 0; i < 100; i++) {
    logger.error({ err: new Error('failed') }, 'request failed');
    logger.warn({ userId: `u${i}` }, 'user locked after failed logins');
    logger.warn('plain');
  }
  assert.equal(written().length, 300);
});

test('an error that quotes a long value is told from others by its beginning', (t) => {
  const { logger, written } = opened(t);
  // Without a digit: a search for ids that begins at each character would take hours.
  const long = 'a'.repeat(1_000_000);
  for (const end of ['x', 'y']) logger.warn({ err: new Error(`${long}${end}`) }, 'store');
  logger.warn({ err: new Error(`other ${long}`) }, 'store');
  assert.equal(written().length, 2);
});
