/**
 * Peppers: a secret of the old system that it added to every password before it hashed it.
 *
 * A hash that needs one is stored as `$pepper$<id of the import>$<hash>`, so that nothing but a login has to know about
 * peppers. The pepper is kept encrypted with the import (`import_peppers`).
 *
 * Guarantee: such a text never verifies as a hash, and no import or call can send one (`hashProblem` refuses it).
 */
import { createHmac } from 'node:crypto';
import type { PepperMode } from './marks.ts';
import { usesWholePassword } from './registry.ts';

const MARK = '$pepper$';

export interface Pepper {
  mode: PepperMode;
  secret: string;
}

/** SQL over `users u`: the hash needs the pepper of an import, whose id is `PEPPER_OF`. The index has the same text. */
export const IS_PEPPERED = `u.password_hash like '${MARK}%'`;
export const PEPPER_OF = `split_part(u.password_hash, '$', 3)`;

/** The purpose that a pepper is encrypted for. */
export const pepperSeal = (importId: string) => `import-pepper:${importId}`;

/** The text that is stored for a hash of this import. */
export function pepperedHash(importId: string, hash: string): string {
  return `${MARK}${importId}$${hash}`;
}

/** The import and the hash as it was sent; undefined for a hash without a pepper. */
export function pepperedOf(stored: string | null | undefined): { importId: string; hash: string } | undefined {
  if (!stored?.startsWith(MARK)) return undefined;
  const end = stored.indexOf('$', MARK.length);
  return { importId: stored.slice(MARK.length, end), hash: stored.slice(end + 1) };
}

/** The hash as it was sent, with or without a pepper. */
export function bareHash(stored: string): string {
  return pepperedOf(stored)?.hash ?? stored;
}

/** What the old system hashed. */
export function withPepper({ mode, secret }: Pepper, password: string): string {
  if (mode === 'suffix') return password + secret;
  if (mode === 'prefix') return secret + password;
  const mac = createHmac('sha256', secret).update(password);
  return mac.digest(mode === 'hmac-sha256-hex' ? 'hex' : 'base64');
}

/** Whether the hash depends on the whole password, as `seesAll`. A pepper after the password may be cut off. */
export function seesAllPeppered(hash: string, pepper: Pepper, password: string): boolean {
  return usesWholePassword(hash, pepper.mode === 'suffix' ? password : withPepper(pepper, password));
}
