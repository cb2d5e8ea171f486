/**
 * Peppers: a secret of the old system that it added to every password before it hashed it.
 *
 * A hash that needs one is stored as `$pepper$<id of the import>$<hash>`, so that nothing but a login has to know about
 * peppers. The pepper is kept encrypted with the import (`import_peppers`).
 *
 * Guarantee: such a text never verifies as a hash, and no import or call can send one (`hashProblem` refuses it).
 */
import { createHmac } from 'node:crypto';
import { readingsOf } from './forms.ts';
import type { PepperMode } from './marks.ts';
import { usesWholePassword, workOf } from './registry.ts';
import { joined, type Secret } from './scheme.ts';

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

/** The hash as the old system has it, by which a later import of it is recognized. */
export function originalHash(stored: string): string {
  return readingsOf(bareHash(stored), '').hash;
}

/**
 * The hash without its forms, and what the old system may have hashed for this password. PrestaShop puts its key before a
 * password for MD5, and no key for bcrypt, in one table; so with a pepper before the password, the hash is also tried
 * without it, unless that would exceed the bounds of a verification. `times`: with and without it.
 */
export function pepperedReadings(
  encoded: string,
  pepper: Pepper,
  password: string,
): { hash: string; readings: Secret[]; times: number } {
  const { hash, readings } = readingsOf(encoded, password);
  const peppered = readings.map((reading) => withPepper(pepper, reading));
  const isMixed = pepper.mode === 'prefix' && 2 * workOf(encoded) <= 1;
  return isMixed ? { hash, readings: [...peppered, ...readings], times: 2 } : { hash, readings: peppered, times: 1 };
}

function withPepper({ mode, secret }: Pepper, password: Secret): Secret {
  if (mode === 'suffix') return typeof password === 'string' ? password + secret : joined(password, secret);
  if (mode === 'prefix') return typeof password === 'string' ? secret + password : joined(secret, password);
  const mac = createHmac('sha256', secret).update(password);
  return mac.digest(mode === 'hmac-sha256-hex' ? 'hex' : 'base64');
}

/** Whether the hash depends on the whole password, as `seesAll`. A pepper after the password may be cut off. */
export function seesAllPeppered(hash: string, pepper: Pepper, password: string): boolean {
  return usesWholePassword(hash, pepper.mode === 'suffix' ? password : String(withPepper(pepper, password)));
}
