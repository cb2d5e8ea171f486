/** The pure functions of the bench `cost`: evaluating a profile, and showing it. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import test from 'node:test';
import { listed } from '../../bench/benches/cost.ts';
import { boxesOf, flameGraph } from '../../bench/measure/flame.ts';
import { type CpuProfile, callTree, cut } from '../../bench/measure/profile.ts';
import { commandsPerUser, REST, readCommands, scriptShares } from '../../bench/measure/redis-cost.ts';
import { OTHER, stepOf, stepShares } from '../../bench/measure/steps.ts';

const frame = (functionName: string, url = '', lineNumber = -1) => ({ functionName, url, lineNumber });
const BULLMQ = 'file:///srv/muster/node_modules/bullmq/dist/cjs/classes/worker.js';

/** 10 ms: 2 idle, 2 garbage collector, 1 BullMQ, 4 for a buffer that BullMQ requests, 1 in a file of no known step. */
const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4, 7] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('mainLoop', BULLMQ, 9), children: [5] },
    { id: 5, callFrame: frame('toString', 'node:buffer', 99), children: [6] },
    { id: 6, callFrame: frame('utf8Slice') },
    { id: 7, callFrame: frame('<odd>', 'file:///srv/odd.js', 0) },
  ],
  startTime: 1000,
  endTime: 11_000,
  samples: [2, 3, 4, 5, 6, 7],
  timeDeltas: [0, 2000, 2000, 1000, 1000, 3000],
};

test('each sample counts until the next one, the last until the end', () => {
  const root = callTree(PROFILE);
  const bullmq = root.callees[2];
  assert.deepEqual(
    root.callees.map((call) => call.self),
    [2000, 2000, 1000, 1000],
  );
  assert.equal(bullmq?.callees[0]?.self, 1000);
  assert.equal(bullmq?.callees[0]?.callees[0]?.self, 3000);
});

test('cutting a profile gives a profile of that period', () => {
  const part = cut(PROFILE, 4000, 8000);
  assert.deepEqual(part.samples, [4, 5, 6]);
  assert.deepEqual(part.timeDeltas, [1000, 1000, 1000]);
  const bullmq = callTree(part).callees[2];
  assert.equal(bullmq?.self, 1000);
  assert.equal(bullmq?.callees[0]?.callees[0]?.self, 1000, 'the last sample counts until the end of the period');
});

test('a function belongs to the step of its file, a helper to the step of its caller', () => {
  assert.equal(stepOf(frame('add', 'file:///srv/src/imports/entries/duplicate-filter.ts'), OTHER), 'duplicates');
  assert.equal(
    stepOf(frame('write', 'file:///srv/node_modules/pg-protocol/dist/parser.js'), OTHER),
    'PostgreSQL client',
  );
  assert.equal(stepOf(frame('writev'), 'sockets and streams'), 'sockets and streams');
  assert.equal(stepOf(frame('from', 'node:buffer'), 'entries'), 'entries');
  assert.equal(stepOf(frame('end', 'node:net'), 'entries'), 'sockets and streams');
  assert.equal(stepOf(frame('write', 'file:///srv/src/imports/run/write-batch.ts'), OTHER), 'our batches');
  assert.equal(stepOf(frame('odd', 'file:///srv/odd.js'), 'entries'), OTHER);
});

test('shares exclude idle time and are listed largest first', () => {
  const shares = stepShares([callTree(PROFILE)]);
  assert.deepEqual(
    [...shares],
    [
      ['BullMQ', 0.625],
      ['garbage collector', 0.25],
      [OTHER, 0.125],
    ],
  );
});

test('boxes are on top of their callers, and narrow ones are left out', () => {
  const boxes = boxesOf(callTree(PROFILE));
  assert.deepEqual(
    boxes.map(({ name, left, width, depth }) => [name, left, width, depth]),
    [
      ['mainLoop', 0, 0.625, 0],
      ['toString', 0, 0.5, 1],
      ['utf8Slice', 0, 0.375, 2],
      ['(garbage collector)', 0.625, 0.25, 0],
      ['<odd>', 0.875, 0.125, 0],
    ],
  );
  assert.equal(boxes[0]?.place, 'node_modules/bullmq/dist/cjs/classes/worker.js:10');
  const rare = { ...PROFILE, endTime: 3_000_000 };
  assert.deepEqual(
    boxesOf(callTree(rare)).map(({ name }) => name),
    ['<odd>'],
  );
});

test('the graph is one self-contained SVG with escaped names', () => {
  const svg = flameGraph(PROFILE, 'Worker & more');
  assert.match(svg, /^<svg xmlns="[^"]+" viewBox="0 0 1200 \d+"/);
  assert.match(svg, /Worker &amp; more/);
  assert.match(svg, /&lt;odd&gt;/);
  assert.match(svg, /BullMQ 62\.5 %/);
  assert.doesNotMatch(svg, /<script|href|url\(|\/srv\/muster/);
});

test("Redis' command statistics are parsed, and a script's runs count by their median", () => {
  const commands = readCommands(
    '# Commandstats\r\ncmdstat_xadd:calls=8,usec=24,usec_per_call=3.00\r\ncmdstat_get:calls=2,usec=90,x\r\n',
  );
  assert.deepEqual(commands, { xadd: { calls: 8, microseconds: 24 }, get: { calls: 2, microseconds: 90 } });
  assert.deepEqual(Object.entries(commandsPerUser(commands, 4)), [
    ['get', { calls: 0.5, microseconds: 22.5 }],
    ['xadd', { calls: 2, microseconds: 6 }],
  ]);
  const run = (script: string, isBatched: boolean, microseconds: number) => ({ script, isBatched, microseconds });
  // Of ten users: two were added at once and eight one by one, all were ended at once.
  const ends = [400, 440, 9000].map((us) => run('moveToFinished', true, us));
  const adds = [run('addStandardJob', true, 40), ...Array.from({ length: 8 }, () => run('addStandardJob', false, 10))];
  assert.deepEqual(scriptShares([...ends, ...adds], 288, 10), {
    addStandardJob: 12 / 288,
    moveToFinished: 132 / 288,
    [REST]: 144 / 288,
  });
  assert.deepEqual(scriptShares(ends, 66, 10), { addStandardJob: 0, moveToFinished: 1, [REST]: 0 });
});

test('steps are listed largest first, and small ones are summed up', () => {
  assert.equal(listed({ a: 0.3, b: 2, c: 10.04, d: 0.4 }), 'c 10.0, b 2.0, all else 0.7');
  assert.equal(listed({ a: 0.3 }), '');
});

test('every file of the import engine and of the workers belongs to a step, and to no other by its name', () => {
  for (const file of globSync('{src/imports,workers}/**/*.ts')) {
    const step = stepOf(frame('work', `file:///srv/${file}`), OTHER);
    const isShared = /^src\/imports\/[^/]+\.ts$/.test(file);
    assert.equal(step === OTHER, isShared, `${file} counts as ${step}`);
  }
});
