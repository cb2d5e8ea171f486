/**
 * What somebody in the middle of a log-in has shown already, kept in the form between two steps.
 *
 * Guarantee: sealed, so nobody reads or makes one; good for one log-in, one step of it, and a quarter of an hour; void
 * once the password is another one. It never holds the password.
 */

import type { PasswordProof } from '../../identity/login/check.ts';
import type { ProofStep } from '../../pages/login-forms.ts';
import type { Secrets } from '../../secrets.ts';

export interface LoginProof extends PasswordProof {
  step: ProofStep;
  /** Authentication methods so far (RFC 8176). */
  amr: string[];
  loginName: string;
}

const GOOD_FOR_MS = 15 * 60_000;

/** @param uid of the log-in */
export function sealProof(secrets: Secrets, uid: string, proof: LoginProof, now: number = Date.now()): string {
  return secrets.seal(JSON.stringify({ ...proof, until: now + GOOD_FOR_MS }), purpose(uid));
}

/** The proof, when it is one for this step of this log-in. */
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

/** The token of a log-in's forms: only who may see them has it. */
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
    return undefined; // made by somebody else, or for something else
  }
}
