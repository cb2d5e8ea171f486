/** Pieces of files are encrypted as they arrive, without leaving garbage. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { newFileKey, openFileKey, release, SEAL_BYTES } from '../../../src/imports/drafts/files.ts';
import { SECRETS } from '../../support/imports/imports.ts';

const MIB = 2 ** 20;
const key = openFileKey(SECRETS, newFileKey(SECRETS), 'file');

function seal(parts: Buffer[], position: number): Buffer {
  const sealer = key.sealer(Buffer.alloc(MIB + SEAL_BYTES), position);
  for (const part of parts) assert.equal(sealer.add(part), part.length);
  return sealer.end();
}

test('a piece is decrypted as this piece of this file only, in whatever parts it arrived', () => {
  const piece = randomBytes(300_000);
  for (const cuts of [[], [1], [65_536, 65_537, 299_999]]) {
    const parts = [0, ...cuts].map((from, i) => piece.subarray(from, cuts[i]));
    const sealed = seal(parts, 5);
    assert.ok(key.unseal(sealed, 5).equals(piece));
    assert.throws(() => key.unseal(sealed, 6));
    assert.throws(() => openFileKey(SECRETS, newFileKey(SECRETS), 'file').unseal(sealed, 5));
  }
  assert.equal(key.unseal(seal([], 0), 0).length, 0);
});

test('a piece that is full takes only what fits', () => {
  const sealer = key.sealer(Buffer.alloc(10 + SEAL_BYTES), 0);
  assert.deepEqual([sealer.add(Buffer.alloc(6)), sealer.add(Buffer.alloc(6)), sealer.add(Buffer.alloc(6))], [6, 4, 0]);
  assert.equal(key.unseal(sealer.end(), 0).length, 10);
});

test('encrypting leaves no memory to be collected', () => {
  const part = Buffer.alloc(2 ** 16);
  const target = Buffer.alloc(MIB + SEAL_BYTES);
  const memory = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let n = 0; n < 64; n++) {
    const sealer = key.sealer(target, n);
    while (sealer.add(part) > 0);
    most = Math.max(most, process.memoryUsage().arrayBuffers - memory);
  }
  assert.ok(most < 4 * part.length, `${most} bytes`);
});

test('a buffer that is a part of another one is not taken from it', () => {
  const whole = Buffer.alloc(MIB, 1);
  release(whole.subarray(0, 10));
  assert.equal(whole[20], 1);
  release(whole);
  assert.equal(whole.buffer.byteLength, 0);
});
