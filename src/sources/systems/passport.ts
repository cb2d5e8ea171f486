import type { Person } from '../entry.ts';
import { bytesOf, type HashText, pbkdf2Text, unsupported } from '../hashes.ts';
import type { ConvertOptions, Fields, Source } from '../source.ts';
import { objectAt, textAt } from '../values.ts';
import { filledCells, otherColumns, usualColumns } from './users-table.ts';

/**
 * passport-local-mongoose: documents of its model, as `mongoexport` writes them. `hash` is PBKDF2 in hexadecimal digits,
 * `salt` is used as text. https://github.com/saintedlama/passport-local-mongoose (options `iterations`, `keylen`,
 * `digestAlgorithm`)
 */

const KNOWN: ReadonlySet<string> = new Set([
  '_id',
  '__v',
  'hash',
  'salt',
  'attempts',
  'last',
  'createdAt',
  'updatedAt',
]);
const DEFAULTS = { rounds: 25_000, digest: 'sha256' };
/** Each block of PBKDF2's output depends on the whole password, so the first verifies as much as all sixteen. */
const BLOCK_BYTES: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha512: 64 };

export const passport: Source = {
  name: 'passport',
  title: 'passport-local-mongoose',
  formats: ['json', 'ndjson', 'csv'],
  hashConfig:
    'If the plugin has other options than its defaults, no password verifies: add a file with the lines ' +
    '`iterations: …` and `digestAlgorithm: …`.',
  recognizes: (record) => {
    const isHex = (name: string, length: number) => (textAt(record, name) ?? '').length >= length;
    return Object.hasOwn(record, '_id') && isHex('hash', 128) && isHex('salt', 32) ? 0.9 : 0;
  },
  converter(options) {
    const cost = costOf(options);
    return (record) => convert(record, cost);
  },
};

function costOf({ hashConfig = '' }: ConvertOptions) {
  const rounds = /iterations"?\s*[:=]\s*(\d+)/.exec(hashConfig)?.[1];
  const digest = /digestAlgorithm"?\s*[:=]\s*["']?([a-z0-9]+)/i.exec(hashConfig)?.[1]?.toLowerCase();
  return { rounds: rounds === undefined ? DEFAULTS.rounds : Number(rounds), digest: digest ?? DEFAULTS.digest };
}

function convert(record: Fields, cost: { rounds: number; digest: string }): Person {
  const row = filledCells(record);
  const usual = usualColumns(row);
  return {
    ...usual,
    userId: textAt(row, '_id') ?? textAt(objectAt(row, '_id'), '$oid'),
    email: usual.email ?? (usual.userName?.includes('@') ? usual.userName : undefined),
    ...hashOf(row, cost),
    metadata: otherColumns(row, KNOWN),
  };
}

function hashOf(row: Fields, { rounds, digest }: { rounds: number; digest: string }): HashText {
  const [text, salt] = [textAt(row, 'hash'), textAt(row, 'salt')];
  if (text === undefined || salt === undefined) return {};
  const [bytes, block] = [bytesOf(text, 'hex'), BLOCK_BYTES[digest]];
  if (!bytes || block === undefined || bytes.length < block) return unsupported(`pbkdf2-${digest}`);
  return { hash: pbkdf2Text(digest, rounds, Buffer.from(salt), bytes.subarray(0, block)) };
}
