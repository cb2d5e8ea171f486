/** No statistic, trace or line of the log changes the work, or ends the process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { afterEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Registry } from 'prom-client';
import { importOutcomes, openWorkerMetrics } from '../../src/operate/metrics.ts';
import { openLogger } from '../../src/platform/logger.ts';
import {
  annotate,
  inImport,
  inSpan,
  lostRecords,
  noteEnd,
  noteStatement,
  openSpan,
  publish,
  type Recorder,
  recordWith,
  subscribe,
  traceContext,
  traceIds,
} from '../../src/platform/telemetry.ts';

const fail = (): never => {
  throw new Error('from what records');
};

describe('what counts and records', () => {
  afterEach(() => recordWith(undefined));

  it('may throw: the publisher and the other subscribers go on', () => {
    const seen: string[] = [];
    subscribe('mail', fail);
    subscribe('mail', (outcome) => seen.push(outcome));
    const before = lostRecords();
    publish('mail', 'sent');
    assert.deepEqual(seen, ['sent']);
    assert.equal(lostRecords(), before + 1);
  });

  it('takes values that are no numbers', async () => {
    openWorkerMetrics({ query: fail } as never);
    importOutcomes(new Registry());
    publish('jobStarted', { queue: 'imports', waited: Number.NaN });
    publish('batch', { users: Number.NaN, seconds: undefined as never });
    publish('users', { succeeded: Number.NaN });
    publish('users', null as never);
    await new Promise((resolve) => setImmediate(resolve)); // an uncaught exception would fail this test
  });

  it('may throw at any call: the work is done once, with its own outcome', async () => {
    const method = (): never => fail();
    const late: Partial<Recorder> = {
      inSpan: async (_name, _attributes, work) => {
        await work();
        return fail();
      },
      ended: async () => fail(),
    };
    const all = { open: method, inSpan: method, inImport: method, annotate: method, ended: method };
    const recorders = [{ ...all, context: method, ids: method, statement: method }, late];
    for (const recorder of recorders) {
      recordWith(recorder as Recorder);
      let times = 0;
      const work = async () => ++times;
      assert.equal(await inSpan('import.batch', {}, work), 1);
      assert.equal(await inImport('7', 'import.batch', {}, work), 2);
      await assert.rejects(
        inSpan('import.batch', {}, () => Promise.reject(new Error('of the work'))),
        /of the work/,
      );
      annotate({});
      noteEnd('7', 'succeeded', 1);
      assert.deepEqual(
        [traceContext(), traceIds(), noteStatement('select 1'), openSpan('import.copy')],
        Array(4).fill(undefined),
      );
    }
    recordWith({ ...late, open: () => ({ end: method }), statement: () => method } as unknown as Recorder);
    openSpan('import.copy')?.end();
    noteStatement('select 1')?.();
  });
});

describe('the log', () => {
  it('survives a line that cannot be made', () => {
    const lines: string[] = [];
    const logger = openLogger({ level: 'info', name: 'test' }, { write: (line) => void lines.push(line) });
    logger.info({ get err() { return fail(); } }, 'one'); // biome-ignore format: short
    logger.info('two');
    assert.match(lines.at(-1) ?? '', /two/);
  });

  it('survives a full disk, and a reader that is gone', async () => {
    const url = new URL('../../src/platform/logger.ts', import.meta.url);
    const script = `import { openLogger } from ${JSON.stringify(url.href)};
      const logger = openLogger({ level: 'info', name: 'x' });
      for (let n = 0; n < 5; n++) { logger.info({ n }, 'line'); logger.warn({ err: new Error('e' + n) }, 'w'); }
      setTimeout(() => { logger.info('late'); console.error('alive'); process.exit(0); }, 100);`;
    for (const output of ['> /dev/full', '| true']) {
      const command = `set -o pipefail; "$0" --input-type=module -e "$1" ${output}`;
      const { stderr } = await promisify(execFile)('bash', ['-c', command, process.execPath, script]);
      assert.match(stderr, /alive/);
    }
  });
});
