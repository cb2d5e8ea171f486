/** Progress bars: they fit the terminal, and end with the last state. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import test from 'node:test';
import { openGauge } from '../../../src/cli/import/read.ts';
import { amountOf, type Output, openDisplay, rateOf } from '../../../src/cli/terminal/output.ts';

/** A terminal of this width, and what is written to it. */
function terminal(columns: number): { out: Output; text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk.toString());
      done();
    },
  });
  const screen = Object.assign(stream, { isTTY: true, columns });
  return { out: { json: false, live: true, screen } as unknown as Output, text: () => chunks.join('') };
}

/** The longest line, without the sequences that move the cursor. */
function widest(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences of a terminal
  const lines = text.split(/\x1b\[[0-9;?]*[A-Za-z]|[\r\n]/);
  return Math.max(...lines.map((line) => [...line].length));
}

for (const columns of [40, 60, 80, 120, 200]) {
  test(`a bar fits a terminal of ${columns} columns`, () => {
    const { out, text } = terminal(columns);
    const display = openDisplay(out);
    display.update({ done: 100_000, total: 100_000, text: 'users sent  12,345/s' });
    display.stop();
    assert.match(text(), /█ 100% {2}100,000\/100,000/);
    assert.ok(widest(text()) <= columns, String(widest(text())));
    assert.equal(text().includes('users sent'), columns >= 70);
  });
}

test('bytes are shown in the unit of the total, also on the narrowest terminal', () => {
  const { out, text } = terminal(40);
  const display = openDisplay(out);
  display.update({ done: 28_311_552, total: 1_038_588_890, isBytes: true, text: '' });
  display.stop();
  assert.match(text(), /░ 2% {2}0\.03\/1\.04 GB/);
  assert.ok(widest(text()) <= 40);
  assert.deepEqual(
    [
      amountOf({ done: 0, total: 0, isBytes: true }),
      amountOf({ done: 999, total: 1000, isBytes: true }),
      rateOf(12.5e6, true),
    ],
    ['0/0 B', '1.0/1.0 kB', '12.5 MB/s'],
  );
});

test('a bar ends with the last state, also if that came right after another one', (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval', 'setTimeout'] });
  const { out, text } = terminal(80);
  const gauge = openGauge(out, 500, 'users sent');
  t.mock.timers.tick(1000);
  gauge.update(300);
  gauge.update(500);
  gauge.stop();
  assert.match(text(), /100% {2}500\/500/);
});

test('work that takes less than a second shows no bar', () => {
  const { out, text } = terminal(80);
  const gauge = openGauge(out, 500, 'users sent');
  gauge.update(500);
  gauge.stop();
  assert.equal(text(), '');
});
