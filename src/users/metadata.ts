/** Users' metadata: entries that programs store with them. Values are bytes, base64 in JSON. */
import { z } from 'zod';
import type { Db } from '../db/pool.ts';
import { eachOnce } from '../fields/cross-fields.ts';
import { requiredText, textProblem } from '../fields/fields.ts';

// One character class and no repeated groups: those overflow the stack on a text of megabytes.
const BASE64 = /^[A-Za-z0-9+/]+(={0,2})$/;
const VALUE_MAX = 500_000;
/** Each invalid element costs time, so the number of elements is checked first. */
const MAX_ENTRIES = 10_000;

export interface MetadataEntry {
  key: string;
  /** Standard base64, padded or not. */
  value: string;
}

/** Standard base64 of 1 to 500,000 characters, padded or not. */
export function metadataValue() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((s, ctx) => {
      const problem =
        s === '' ? 'must not be empty' : (textProblem(s, VALUE_MAX) ?? (isBase64(s) ? undefined : 'must be base64'));
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: VALUE_MAX, contentEncoding: 'base64', examples: ['Z29sZA=='] });
}

/** A list of entries, each with a different key. */
export function metadataList() {
  return z
    .array(z.object({ key: requiredText(200), value: metadataValue() }))
    .max(MAX_ENTRIES, `must have at most ${MAX_ENTRIES} elements`)
    .check(eachOnce('key'));
}

function isBase64(s: string): boolean {
  const padding = BASE64.exec(s)?.[1]?.length;
  if (padding === undefined) return false;
  return padding === 0 ? s.length % 4 !== 1 : s.length % 4 === 0;
}

/** Adds entries to a user who has no entries with these keys yet. */
export async function insertMetadata(db: Db, userId: string, entries: readonly MetadataEntry[]): Promise<void> {
  await db.query(
    `insert into user_metadata (user_id, key, value)
     select $1, key, decode(rpad(value, (length(value) + 3) / 4 * 4, '='), 'base64')
     from unnest($2::text[], $3::text[]) as entry (key, value)`,
    [userId, entries.map((e) => e.key), entries.map((e) => e.value)],
  );
}

/** Metadata by key; values as padded base64. */
export async function metadataOf(db: Db, userId: string): Promise<MetadataEntry[]> {
  const { rows } = await db.query<{ key: string; value: Buffer }>(
    'select key, value from user_metadata where user_id = $1 order by key',
    [userId],
  );
  return rows.map(({ key, value }) => ({ key, value: value.toString('base64') }));
}
