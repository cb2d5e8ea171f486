import assert from 'node:assert/strict';
import test from 'node:test';
import { openScope } from '../../bench/scope.ts';

function recorder() {
  const log: string[] = [];
  const thing = (name: string) => [async () => name, async () => log.push(name)] as const;
  return { log, thing };
}

test('everything that was started ends in reverse order', async () => {
  const { log, thing } = recorder();
  const scope = openScope();
  await scope.start(...thing('first'));
  await scope.start(...thing('second'));
  await scope.close();
  assert.deepEqual(log, ['second', 'first']);
});

test('an inner scope ends with its work, even if that fails', async () => {
  const { log, thing } = recorder();
  const scope = openScope();
  const failing = scope.within(async (inner) => {
    await inner.start(...thing('inner'));
    throw new Error('no');
  });
  await assert.rejects(failing, /no/);
  assert.deepEqual(log, ['inner']);
  await scope.close();
  assert.deepEqual(log, ['inner']);
});

test('things that are still starting when the scope closes end too, and nothing starts afterwards', async () => {
  const { log } = recorder();
  const scope = openScope();
  const begun = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  const open = () => {
    begun.resolve();
    return opened.promise;
  };
  const starting = scope.within((inner) => inner.start(open, async (name) => log.push(name)));
  await begun.promise;
  const closed = scope.close();
  await assert.rejects(
    scope.start(
      async () => 'late',
      async () => log.push('late'),
    ),
    /is ending/,
  );
  opened.resolve('slow');
  await Promise.all([starting, closed]);
  assert.deepEqual(log, ['slow']);
});

test('an error while ending one thing does not stop the others from ending', async () => {
  const { log, thing } = recorder();
  const scope = openScope();
  await scope.start(...thing('first'));
  await scope.start(
    async () => 'bad',
    async () => {
      throw new Error('stuck');
    },
  );
  await assert.rejects(scope.close(), /stuck/);
  assert.deepEqual(log, ['first']);
});
