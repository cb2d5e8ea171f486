import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordedOneIn } from '../../src/operate/tracing.ts';

const recorded = (from: number, to: number) => {
  const found: number[] = [];
  for (let n = from; n <= to; n++) if (recordedOneIn(n) !== undefined) found.push(n);
  return found;
};

describe('the spans of one import', () => {
  it('are all recorded at first', () => {
    assert.equal(recorded(1, 399).length, 399);
    assert.equal(recordedOneIn(1), 1);
  });

  it('are recorded ever more rarely, and say so', () => {
    assert.deepEqual(recorded(400, 410), [400, 402, 404, 406, 408, 410]);
    assert.equal(recordedOneIn(402), 2);
    assert.equal(recordedOneIn(200 * 1024), 1024);
  });

  it('are some thousand of a million', () => {
    const { length } = recorded(1, 1_000_000);
    assert.ok(length > 2500 && length < 3000, String(length));
  });
});
