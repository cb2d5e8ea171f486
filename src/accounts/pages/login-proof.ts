/**
 * Proof of the checks that a user has passed so far in a login, kept in the form between two steps.
 *
 * Guarantee: encrypted and authenticated, so nobody can read or forge one; valid for one login, one step of it, and 15
 * minutes; void once the password changes. It never holds the password.
 */

import type { PasswordProof } from '../../identity/login/check.ts';
import type { ProofStep } from '../../pages/login-forms.ts';
import type { Secrets } from '../../secrets.ts';

export interface LoginProof extends PasswordProof {
  step: ProofStep;
  /** Authentication methods so far (RFC 8176). */
  amr: string[];
  loginName: string;
  /** Of a second factor that the user sets up now, in base32; it is stored once a code has proved it. */
  secret?: string;
}

const GOOD_FOR_MS = 15 * 60_000;

/** @param uid of the login */
export function sealProof(secrets: Secrets, uid: string, proof: LoginProof, now: number = Date.now()): string {
  return secrets.seal(JSON.stringify({ ...proof, until: now + GOOD_FOR_MS }), purpose(uid));
}

/** The proof, if it is valid for this login and one of these steps; else undefined. */
export function openProof(
  secrets: Secrets,
  uid: string,
  sealed: string,
  steps: readonly ProofStep[],
  now: number = Date.now(),
): LoginProof | undefined {
  const text = unsealed(secrets, sealed, purpose(uid));
  if (text === undefined) return undefined;
  const { until, ...proof } = JSON.parse(text) as LoginProof & { until: number };
  return now < until && steps.includes(proof.step) ? proof : undefined;
}

/** The token of a login's forms: only the browser that may see them has it. */
export function formToken(secrets: Secrets, uid: string): string {
  return secrets.seal(uid, TOKEN);
}

export function isFormToken(secrets: Secrets, uid: string, token: string): boolean {
  return unsealed(secrets, token, TOKEN) === uid;
}

const TOKEN = 'login form';

function purpose(uid: string): string {
  return `login proof ${uid}`;
}

function unsealed(secrets: Secrets, sealed: string, purpose: string): string | undefined {
  try {
    return secrets.unseal(sealed, purpose);
  } catch {
    return undefined; // forged, or sealed for another purpose
  }
}
