/**
 * What a user has instead of a hash while their password is known to a password source only: a mark with the id of the
 * source (`src/signin/password-sources/`). OpenLDAP does the same with `{SASL}user@realm`.
 *
 * Guarantee: a mark never verifies as a hash, and no import or call can send one as a hash (`hashProblem` refuses it).
 * Whatever sets a password replaces the mark, and so ends the source for the user.
 */

const MARK = '$source$';

/** SQL over `users u`: the user has a mark. The index `users_at_source` has the same condition. */
export const IS_AT_SOURCE = `u.password_hash like '${MARK}%'`;

/** What is stored instead of a hash for a user of the source. */
export function markOf(sourceId: string): string {
  return `${MARK}${sourceId}`;
}

/** The id of the source; undefined for a hash, and without one. */
export function sourceOf(hash: string | null | undefined): string | undefined {
  return hash?.startsWith(MARK) ? hash.slice(MARK.length) : undefined;
}

/** How an old system combined a password and its pepper, by name. `suffix` is Devise's. */
export const PEPPER_MODES = ['suffix', 'prefix', 'hmac-sha256-hex', 'hmac-sha256-base64'] as const;
export type PepperMode = (typeof PEPPER_MODES)[number];
