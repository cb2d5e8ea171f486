/**
 * passport-local-mongoose: documents of its model, as `mongoexport` writes them. `hash` is PBKDF2 in hexadecimal digits,
 * `salt` is used as text. https://github.com/saintedlama/passport-local-mongoose (options `iterations`, `keylen`,
 * `digestAlgorithm`)
 */
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import type { ConvertOptions, Fields } from '../source.ts';
import { textAt } from '../values.ts';
import { emailOrName, tableSource } from './table.ts';

const DEFAULTS = { rounds: 25_000, digest: 'sha256' };
/** Each block of PBKDF2's output depends on the whole password, so the first verifies as much as all sixteen. */
const BLOCK_BYTES: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha512: 64 };

export const passport = tableSource({
  name: 'passport',
  title: 'passport-local-mongoose',
  hasUsualColumns: true,
  hashConfig:
    'If the plugin has other options than its defaults, no password verifies: add a file with the lines ' +
    '`iterations: …` and `digestAlgorithm: …`.',
  recognizes: (record) => {
    const isHex = (name: string, length: number) => (textAt(record, name) ?? '').length >= length;
    return Object.hasOwn(record, '_id') && isHex('hash', 128) && isHex('salt', 32) ? 0.9 : 0;
  },
  columns: { userId: ['_id', '_id.$oid'], email: emailOrName },
  parts(options) {
    const cost = costOf(options);
    return [(row) => hashOf(row, cost)];
  },
  dropped: '__v hash salt attempts last createdAt updatedAt',
});

function costOf({ hashConfig = '' }: ConvertOptions) {
  const rounds = /iterations"?\s*[:=]\s*(\d+)/.exec(hashConfig)?.[1];
  const digest = /digestAlgorithm"?\s*[:=]\s*["']?([a-z0-9]+)/i.exec(hashConfig)?.[1]?.toLowerCase();
  return { rounds: rounds === undefined ? DEFAULTS.rounds : Number(rounds), digest: digest ?? DEFAULTS.digest };
}

function hashOf(row: Fields, { rounds, digest }: { rounds: number; digest: string }): HashText {
  const [text, salt] = [textAt(row, 'hash'), textAt(row, 'salt')];
  if (text === undefined || salt === undefined) return {};
  const [bytes, block] = [bytesOf(text, 'hex'), BLOCK_BYTES[digest]];
  if (!bytes || block === undefined || bytes.length < block) return unsupported(`pbkdf2-${digest}`);
  return { hash: pbkdf2Text(digest, rounds, Buffer.from(salt), bytes.subarray(0, block)) };
}
