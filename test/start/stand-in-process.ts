/** A process run by `runProcess`; its first argument selects its behaviour. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../../src/platform/errors.ts';
import { runProcess } from '../../src/platform/lifecycle.ts';
import { openLogger } from '../../src/platform/logger.ts';

const manner = process.argv[2];
const logger = openLogger({ level: 'info', name: 'stand-in' });

runProcess({
  name: 'stand-in',
  logger,
  stopAfterMs: manner === 'late' ? 300 : 30_000,
  start: async () => {
    if (manner === 'refuses') throw new StartError('It cannot start: do something about it.');
    if (manner === 'defect') throw new TypeError('a defect');
    const alive = setInterval(() => {}, 60_000);
    if (manner === 'throws') setTimeout(() => assertNever(), 10);
    return {
      ready: { url: 'http://here' },
      async stop() {
        clearInterval(alive);
        if (manner === 'late' || manner === 'hangs') await sleep(60_000);
      },
      force: () => console.log('forced'),
    };
  },
});

function assertNever(): never {
  throw new Error('out of the blue');
}
