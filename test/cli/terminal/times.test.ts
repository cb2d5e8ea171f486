import assert from 'node:assert/strict';
import test from 'node:test';
import { distance } from '../../../src/cli/terminal/output.ts';

test('a time is shown by its distance, in the largest whole unit', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  for (const [iso, text] of [
    ['2026-11-23T12:00:00.500Z', 'now'],
    ['2026-11-23T11:59:01Z', '59 s ago'],
    ['2026-11-23T11:57:30Z', '2 min ago'],
    ['2026-11-23T15:59:59Z', 'in 3 h'],
    ['2026-11-22T11:00:00Z', '1 day ago'],
    ['2026-12-03T12:00:00Z', 'in 10 days'],
    ['', ''],
  ] as const) {
    assert.equal(distance(iso, now), text);
  }
});
