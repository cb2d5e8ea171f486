/**
 * Notes for the password hashes of a record that its user does not get: nobody should find out by users who cannot log in.
 *
 * A source may write a hash in another form than the export (`$pbkdf2…` out of its parts): what it took is told by the
 * text that both have in common, or else is the first one under a password's name.
 */
import { isOfPassword } from './hash-like.ts';
import { type FoundHash, hashesIn, placeOf } from './hash-search.ts';
import type { Note, Person } from './person.ts';
import type { Fields } from './source.ts';

export const HASH_NOT_USED = 'HASH-NOT-USED';
/** So many last characters are no coincidence. */
const TAIL = 16;

/** One note for each value that is not used, without the value. */
export function unusedHashes(record: Fields, person: Person): Note[] {
  const found = hashesIn(record);
  if (found.length === 0) return [];
  return withoutUsed(found, person).map((hash) => ({
    id: HASH_NOT_USED,
    message: `What looks like a password hash (${hash.scheme}) at ${placeOf(hash)} is not used.`,
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
