/**
 * Tries one password of a user in a draft, before anything is imported: whether it will sign them in.
 *
 * Guarantee: the password is compared as at a sign-in, with the pepper and in every form, in the threads that hash; it is
 * neither stored nor logged, and nothing changes. What one call may cost is bounded: it reads the entries of the draft
 * once, and compares with the first entries of this name only.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { TRIED } from '../../contract/draft-results.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { sourceOf } from '../../passwords/marks.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { nameKey } from '../../platform/fields.ts';
import { openSlots } from '../../platform/http/slots.ts';
import { checkStored } from '../../signin/login/check.ts';
import { PASSWORD_PURPOSE } from '../entries/item.ts';

export interface TryDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Pick<Hasher, 'verify' | 'verifyNothing'>;
  logger: Logger;
}

export interface Tried {
  loginName: string;
  password: string;
}

export type TryResult = (typeof TRIED)[number];

/** Each reads the entries of a draft, and may wait for a thread. */
export const tries = openSlots({
  perCaller: 2,
  perOrg: 4,
  total: 8,
  id: 'DRAFT-TRIES',
  what: 'passwords of drafts',
});

/** Entries of one name that are compared: of several, the first is imported. */
const MOST_ENTRIES = 3;

type Found = Pick<ImportItems, 'state' | 'password_hash' | 'password_sealed'>;

/** @throws ApiError 503 PASSWORDS-BUSY */
export async function tryPassword(
  deps: TryDeps,
  importId: string,
  { loginName, password }: Tried,
  clientAborted?: AbortSignal,
): Promise<TryResult> {
  const entries = await entriesOf(deps.pool, importId, loginName);
  const results: TryResult[] = [];
  for (const entry of entries) {
    const result = await tryEntry(deps, entry, password, clientAborted);
    if (result === 'FITS') return result;
    results.push(result);
  }
  return results[0] ?? 'NO_USER';
}

/** Valid entries first. Reads all entries of the draft by its primary key: no other index names a draft. */
async function entriesOf(pool: Pool, importId: string, name: string): Promise<Found[]> {
  const { rows } = await pool.query<Found>(
    `select state, password_hash, password_sealed from import_items
     where import_id = $1 and (user_name_key = $2 or email_key = $2 or user_id = $3 or user_name = $3)
     order by state = 'failed', ordinal limit ${MOST_ENTRIES}`,
    [importId, nameKey(name), name],
  );
  return rows;
}

async function tryEntry(
  deps: TryDeps,
  { state, password_hash: hash, password_sealed: sealed }: Found,
  password: string,
  clientAborted: AbortSignal | undefined,
): Promise<TryResult> {
  if (sealed !== null) return isSame(deps.secrets.unseal(sealed, PASSWORD_PURPOSE), password) ? 'FITS' : 'DOES_NOT_FIT';
  // The hash of a failed entry is encrypted with the whole entry; that of a corrected one is there again.
  if (hash === null) return state === 'failed' ? 'INVALID_ENTRY' : 'NO_HASH';
  if (sourceOf(hash) !== undefined) return 'AT_SOURCE';
  const { ok } = await checkStored(deps, hash, password, {
    verify: (encoded, plain) => deps.hasher.verify(encoded, plain, clientAborted),
    verifyNothing: () => deps.hasher.verifyNothing(password, clientAborted),
  });
  return ok ? 'FITS' : 'DOES_NOT_FIT';
}

function isSame(right: string, typed: string): boolean {
  const [a, b] = [Buffer.from(right), Buffer.from(typed)];
  return a.length === b.length && timingSafeEqual(a, b);
}
