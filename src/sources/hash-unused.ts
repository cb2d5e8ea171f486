/**
 * Notes the password hashes of a record that are not imported; otherwise the first sign would be failed logins.
 *
 * A source may write a hash in another form than the export (`$pbkdf2…` built from its parts). The hash it used is the
 * one that shares its last characters with the result, or else the first one in a password field.
 */
import { isOfPassword } from './hash-like.ts';
import { type FoundHash, hashesIn, placeOf } from './hash-search.ts';
import type { Note, Person } from './person.ts';
import type { Fields } from './source.ts';

export const HASH_NOT_USED = 'HASH-NOT-USED';
/** This many equal last characters are no coincidence. */
const TAIL = 16;

/** One note for each unused hash, without its value. */
export function unusedHashes(record: Fields, person: Person): Note[] {
  const found = hashesIn(record);
  if (found.length === 0) return [];
  return withoutUsed(found, person).map((hash) => ({
    id: HASH_NOT_USED,
    message: `A value that looks like a password hash (${hash.scheme}) at ${placeOf(hash)} is not used.`,
  }));
}

function withoutUsed(found: readonly FoundHash[], { hash, password }: Person): readonly FoundHash[] {
  const left = found.filter(({ text }) => text !== password?.trim() && (hash === undefined || !isSame(text, hash)));
  if (hash === undefined || left.length < found.length) return left;
  const taken = found.find(({ path }) => isOfPassword(path)) ?? found[0];
  return found.filter((one) => one !== taken);
}

function isSame(text: string, hash: string): boolean {
  if (text === hash) return true;
  const tail = hash.slice(-TAIL);
  return tail.length === TAIL && text.endsWith(tail);
}
