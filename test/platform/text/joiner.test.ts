import assert from 'node:assert/strict';
import test from 'node:test';
import { Joiner } from '../../../src/platform/text/lines.ts';
import fc from '../../support/fast-check.ts';

const step = fc.record({
  chunk: fc.oneof(fc.uint8Array({ maxLength: 5 }), fc.uint8Array({ maxLength: 3000, size: 'max' })),
  /** Bytes that are released before the chunk comes. */
  released: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(4000)),
});

test('the end of a buffer and the next chunk are joined, and what was returned before is never overwritten', () => {
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const joiner = new Joiner();
    const returned: [view: Buffer, copy: Buffer][] = [];
    let buffer: Buffer = Buffer.alloc(0);
    for (const { chunk, released } of steps) {
      const rest = buffer.subarray(released);
      const expected = Buffer.concat([rest, chunk]);
      buffer = joiner.join(rest, Buffer.from(chunk));
      assert.deepEqual(buffer, expected);
      returned.push([buffer, expected]);
    }
    for (const [view, copy] of returned) assert.deepEqual(view, copy);
  });
  fc.assert(property, { numRuns: 300 });
});

test('an unfinished end is moved only when it has doubled', () => {
  const joiner = new Joiner();
  const places = new Set<ArrayBufferLike>();
  let buffer: Buffer = Buffer.alloc(65_536);
  for (let i = 0; i < 500_000; i++) {
    buffer = joiner.join(buffer, Buffer.from('abcd'));
    places.add(buffer.buffer);
  }
  assert.equal(buffer.length, 65_536 + 2_000_000);
  assert.ok(places.size <= 6, `${places.size} moves`);
});

test('a chunk alone is not copied', () => {
  const chunk = Buffer.from('chunk');
  assert.equal(new Joiner().join(Buffer.alloc(0), chunk), chunk);
});
