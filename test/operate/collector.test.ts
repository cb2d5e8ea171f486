/** Spans of this process, as a collector receives them; and what becomes of them when it is away or slow. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, describe, it } from 'node:test';
import { openTracing } from '../../src/operate/open-tracing.ts';
import type { Tracing } from '../../src/operate/tracing.ts';
import { readConfig } from '../../src/platform/config.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { inImport, inSpan, openSpan, traceContext } from '../../src/platform/telemetry.ts';
import { freePort } from '../support/free-port.ts';
import { type Collector, startCollector } from '../support/otlp/collector.ts';
import { testDatabase } from '../support/stores/postgres.ts';

const database = await testDatabase();
after(() => database.drop());

/** A busy machine needs more than a second to send spans. */
const PATIENT_MS = 60_000;

/** Lines of the log. */
const lines: string[] = [];

async function start(url: string, env: Record<string, string> = {}): Promise<Tracing> {
  lines.length = 0;
  const log = new PassThrough().on('data', (line) => lines.push(String(line)));
  const config = readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env });
  const logger = openLogger({ level: 'info', name: 'test' }, log);
  return (await openTracing({ service: 'test', config, db: database.pool, logger })) as Tracing;
}

/** Runs `work` with tracing on. @returns what the collector got of it */
async function collected(work: () => Promise<unknown>, env?: Record<string, string>): Promise<Collector['spans']> {
  const collector = await startCollector();
  const tracing = await start(collector.url, env);
  await work();
  await tracing.stop(PATIENT_MS);
  await collector.stop();
  return collector.spans;
}

const many = async (n: number) => {
  for (let i = 0; i < n; i++) await inSpan('import.accept', {}, async () => {});
};

async function newImport(traceparent: string | null): Promise<string> {
  const { rows } = await database.pool.query(
    `insert into imports (kind, state, created_by, resource_owner, trace_context)
     values ('bulk', 'running', 'me', 'home', $1) returning id`,
    [traceparent],
  );
  return rows[0].id;
}

describe('a span', () => {
  it('is sent at the end, with the name of the service', async () => {
    const [span] = await collected(() => many(1), { OTEL_SERVICE_NAME: 'shop-login' });
    assert.deepEqual([span?.name, span?.service, span?.failed], ['import.accept', 'shop-login', false]);
  });

  it('that fails names the code of the error, not its message', async () => {
    const error = new Error('ann@example.com is taken', { cause: Object.assign(new Error('x'), { code: '23505' }) });
    const failing = () => inSpan('import.accept', {}, () => Promise.reject(error));
    const [span, open] = await collected(async () => {
      await assert.rejects(failing(), error);
      openSpan('import.copy')?.end({ 'muster.bytes': 7 }, new TypeError('ann'));
    });
    assert.equal(span?.failed, true);
    assert.deepEqual(span?.attributes, { 'error.type': '23505' });
    assert.deepEqual(open?.attributes, { 'muster.bytes': 7, 'error.type': 'TypeError' });
  });

  it('is not recorded where the sampler refuses it', async () => {
    assert.deepEqual(await collected(() => many(3), { OTEL_TRACES_SAMPLER: 'always_off' }), []);
  });

  it('of a slow statement names its verb and its table only', async () => {
    const pool = openPool(database.url, { max: 1 });
    const slow = () =>
      pool.query(`select 'ann@example.com' from users right join pg_sleep(0.15) on true where $1 = 'x'`, ['x']);
    const spans = await collected(() => inSpan('import.accept', {}, slow));
    await pool.end();
    const [parent] = spans.filter((span) => span.name === 'import.accept');
    const [statement] = spans.filter((span) => span.name === 'select users');
    assert.equal(statement?.parentId, parent?.spanId);
    assert.ok((statement?.took ?? 0) >= 100, `${statement?.took} ms`);
    assert.deepEqual(statement?.attributes, { 'db.system.name': 'postgresql', 'db.query.summary': 'select users' });
  });
});

describe('the spans of an import', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c';

  it('continue the trace of its row, which is read once', async () => {
    const id = await newImport(`00-${TRACE}-b7ad6b7169203331-01`);
    const batches = async () => {
      await inImport(id, 'import.batch', { 'muster.users': 2 }, async () => {});
      await database.pool.query('update imports set trace_context = null where id = $1', [id]);
      await inImport(id, 'import.batch', { 'muster.users': 1 }, async () => {});
    };
    const spans = await collected(batches);
    assert.deepEqual(
      spans.map((span) => [span.traceId, span.parentId, span.kind, span.attributes['muster.users']]),
      [2, 1].map((users) => [TRACE, 'b7ad6b7169203331', 'consumer', users]),
    );
  });

  it('are not recorded without a trace, nor where its caller refuses it, and the work is done', async () => {
    const without = await newImport(null);
    const refused = await newImport(`00-${TRACE}-b7ad6b7169203331-00`);
    let done = 0;
    const batches = async () => {
      for (const id of [without, refused, 'no id at all']) await inImport(id, 'import.batch', {}, async () => done++);
    };
    assert.deepEqual(await collected(batches), []);
    assert.equal(done, 3);
  });

  it('are thinned out in a large import, in which log lines still name the trace', async () => {
    const id = await newImport(`00-${TRACE}-b7ad6b7169203331-01`);
    let context: string | undefined;
    const batches = async () => {
      for (let i = 0; i < 401; i++)
        await inImport(id, 'import.batch', {}, async () => {
          context = traceContext();
        });
    };
    const spans = await collected(batches);
    assert.equal(spans.length, 400);
    assert.equal(spans.at(-1)?.attributes['muster.one_in'], 2);
    assert.equal(context, `00-${TRACE}-b7ad6b7169203331-01`);
  });
});

describe('a collector', () => {
  it('that does not answer delays no work, and a bounded number of spans waits for it', async () => {
    const collector = await startCollector();
    const release = collector.hold();
    const tracing = await start(collector.url, { OTEL_BSP_MAX_QUEUE_SIZE: '100' });
    await many(5000);
    release();
    await tracing.stop(PATIENT_MS);
    await collector.stop();
    assert.ok(collector.spans.length >= 100 && collector.spans.length <= 200, String(collector.spans.length));
  });

  it('that never answers, or is away, does not keep the process from stopping, and costs a line of the log', async () => {
    const collector = await startCollector();
    collector.hold();
    for (const url of [collector.url, `http://127.0.0.1:${await freePort()}`]) {
      const tracing = await start(url);
      await many(10);
      await tracing.stop();
      assert.equal(lines.length, 1, lines.join(''));
      assert.match(lines[0] as string, /the last spans were not sent/);
    }
    await collector.stop();
  });
});
