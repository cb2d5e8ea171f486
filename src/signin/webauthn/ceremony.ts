/**
 * The ceremonies of WebAuthn level 3 as the relying party sees them: makes challenges, and verifies what an
 * authenticator answers.
 *
 * Guarantee: a challenge is encrypted and authenticated text of ours, so it needs no row until it is answered; it is good
 * for five minutes, for one purpose and one holder (the sign-in of one browser, one session, one user who adds a
 * passkey), and is answered once. An answer counts only from an origin of ours, for our RP id, with the signature of the
 * stored key, by a user who is present, and verified where that is asked for. What cannot be read is no answer.
 *
 * On crash: a challenge that was answered is used up, and the person begins again.
 */
import { createHash } from 'node:crypto';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { Logger } from 'pino';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { type RelyingPartyConfig, relyingParty } from '../../platform/relying-party.ts';
import { findPasskey, type Passkey, useChallenge } from './store.ts';

export interface CeremonyDeps {
  pool: Pool;
  secrets: Secrets;
  config: RelyingPartyConfig;
  logger: Logger;
}

/** `sign_in`: on the log-in pages; `factor`: there, after the password; `add`: a new one; `session`: of a program. */
export type CeremonyPurpose = 'sign_in' | 'factor' | 'add' | 'session';

/** What a challenge is made for. */
export interface CeremonyOf {
  purpose: CeremonyPurpose;
  /** The sign-in, the session or the user that it belongs to. */
  holder: string;
}

interface Kept extends CeremonyOf {
  until: number;
  /** The authenticator must verify the user, whoever checks the answer. */
  needsVerification?: true;
}

/** How long a person may take, in milliseconds (WebAuthn section 15.1 recommends five to ten minutes). */
export const CEREMONY_MS = 5 * 60_000;
const SEAL = 'webauthn challenge';

/** A new challenge, in base64url. */
export function newChallenge(
  secrets: Secrets,
  { purpose, holder, needsVerification }: CeremonyOf & Pick<Kept, 'needsVerification'>,
  now: number = Date.now(),
): string {
  const kept: Kept = { purpose, holder, until: now + CEREMONY_MS, ...(needsVerification ? { needsVerification } : {}) };
  return Buffer.from(secrets.seal(JSON.stringify(kept), SEAL)).toString('base64url');
}

/** The challenge, if it was made for this and is still good. */
function openChallenge(secrets: Secrets, challenge: string, of: CeremonyOf): Kept | undefined {
  const kept = unsealed(secrets, challenge);
  return kept?.purpose === of.purpose && kept.holder === of.holder && Date.now() < kept.until ? kept : undefined;
}

function unsealed(secrets: Secrets, challenge: string): Kept | undefined {
  try {
    return JSON.parse(secrets.unseal(Buffer.from(challenge, 'base64url').toString(), SEAL)) as Kept;
  } catch {
    return undefined; // not ours, or not a text
  }
}

/** What the challenge of an answer was made for; nothing is proved by it. @param answer of `toJSON()` */
export function purposeOf(secrets: Secrets, answer: unknown): CeremonyPurpose | undefined {
  const read = readAssertion(answer);
  const data = read && parseAnswer(Buffer.from(read.response.clientDataJSON, 'base64url').toString());
  return isObject(data) && typeof data.challenge === 'string' ? unsealed(secrets, data.challenge)?.purpose : undefined;
}

/** The challenge that an answer brings. */
export interface Opened {
  /** For the library: whether it is ours, made for this, and still good. */
  isOurs(challenge: string): boolean;
  /** Of one that is ours. */
  needsVerification(): boolean;
  /** Uses it up; false if it was answered before, or was not ours. */
  spend(db: Db, userId: string): Promise<boolean>;
}

/** What becomes of the challenge of one answer. */
export function openedBy(secrets: Secrets, of: CeremonyOf): Opened {
  let made: (Pick<Kept, 'until' | 'needsVerification'> & { challenge: string }) | undefined;
  return {
    isOurs(challenge) {
      const kept = openChallenge(secrets, challenge, of);
      made = kept && { ...kept, challenge };
      return kept !== undefined;
    },
    needsVerification: () => made?.needsVerification === true,
    async spend(db, userId) {
      if (!made) return false;
      return useChallenge(db, {
        challenge_hash: createHash('sha256').update(made.challenge).digest(),
        purpose: of.purpose,
        holder: createHash('sha256').update(of.holder).digest(),
        user_id: userId,
        expires_at: new Date(made.until),
      });
    },
  };
}

/** What `navigator.credentials.get` needs. */
export interface RequestOptions {
  challenge: string;
  rpId: string;
  timeout: number;
  userVerification: 'required' | 'preferred' | 'discouraged';
  allowCredentials: { type: 'public-key'; id: string; transports?: string[] }[];
}

/** @param allowed the passkeys that may answer; none: any that the browser finds for our RP id */
export function requestOptions(
  challenge: string,
  rpId: string,
  userVerification: RequestOptions['userVerification'],
  allowed: readonly Pick<Passkey, 'credentialId' | 'transports'>[] = [],
): RequestOptions {
  const allowCredentials = allowed.map(({ credentialId, transports }) => ({
    type: 'public-key' as const,
    id: credentialId.toString('base64url'),
    ...(transports.length > 0 ? { transports } : {}),
  }));
  return { challenge, rpId, timeout: CEREMONY_MS, userVerification, allowCredentials };
}

/** An answer whose form is right, and the passkey that it names. */
export interface Claimed {
  passkey: Passkey;
  answer: AuthenticationResponseJSON;
}

/** The passkey that an answer names, if it is one of ours; nothing is proved yet. @param answer of `toJSON()` */
export async function claimedPasskey({ pool, config }: CeremonyDeps, answer: unknown): Promise<Claimed | undefined> {
  const party = relyingParty(config);
  const read = party && readAssertion(answer);
  const passkey = read && (await findPasskey(pool, party.rpId, Buffer.from(read.id, 'base64url')));
  return passkey && read ? { passkey, answer: read } : undefined;
}

/** What a verified answer says. */
export interface Assertion {
  signCount: number;
  userVerified: boolean;
  backedUp: boolean;
}

/**
 * Verifies an answer and uses its challenge up; undefined if anything about it is wrong.
 * @param needsVerification whether the authenticator must have verified the user
 */
export async function verifyAssertion(
  deps: CeremonyDeps,
  { passkey, answer }: Claimed,
  of: CeremonyOf,
  needsVerification: boolean,
): Promise<Assertion | undefined> {
  const party = relyingParty(deps.config);
  const handle = answer.response.userHandle;
  if (!party || !isHandleOf(passkey, handle)) return undefined;
  const opened = openedBy(deps.secrets, of);
  // Most processes never need it.
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  try {
    const { verified, authenticationInfo: info } = await verifyAuthenticationResponse({
      response: answer,
      expectedChallenge: opened.isOurs,
      expectedOrigin: [...party.origins],
      expectedRPID: party.rpId,
      requireUserVerification: needsVerification,
      // The count is compared where it is stored, so that two answers at once do not pass.
      credential: { id: answer.id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
    });
    if (opened.needsVerification() && !info.userVerified) return undefined;
    if (!verified || !(await opened.spend(deps.pool, passkey.userId))) return undefined;
    return { signCount: info.newCounter, userVerified: info.userVerified, backedUp: info.credentialBackedUp };
  } catch (error) {
    if (isDatabaseFault(error)) throw error;
    deps.logger.debug({ userId: passkey.userId, reason: (error as Error).message }, 'a passkey was not accepted');
    return undefined;
  }
}

/** The library throws plain errors for all that is wrong with an answer. */
function isDatabaseFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error;
}

/** Where the authenticator sends a handle and one is stored, they are the same (WebAuthn section 7.2). */
function isHandleOf({ userHandle }: Passkey, sent: string | undefined): boolean {
  return sent === undefined || sent === '' || !userHandle || userHandle.equals(Buffer.from(sent, 'base64url'));
}

/** In base64url; a credential id has at most 1023 bytes (WebAuthn section 6.5.1). */
const BASE64URL = /^[\w-]{1,1400}$/;
const MOST_CHARS = 8000;

function isBase64url(value: unknown, most = MOST_CHARS): value is string {
  return typeof value === 'string' && value.length <= most && /^[\w-]+$/.test(value);
}

function readAssertion(value: unknown): AuthenticationResponseJSON | undefined {
  if (!isObject(value) || !isObject(value.response)) return undefined;
  const { id, rawId = id, type } = value;
  const { clientDataJSON, authenticatorData, signature, userHandle } = value.response;
  if (typeof id !== 'string' || !BASE64URL.test(id) || rawId !== id || type !== 'public-key') return undefined;
  if (!isBase64url(clientDataJSON) || !isBase64url(authenticatorData) || !isBase64url(signature)) return undefined;
  if (userHandle !== undefined && userHandle !== null && userHandle !== '' && !isBase64url(userHandle, 200))
    return undefined;
  const handle = typeof userHandle === 'string' ? { userHandle } : {};
  const response = { clientDataJSON, authenticatorData, signature, ...handle };
  return { id, rawId: id, type, response, clientExtensionResults: {} };
}

/** The answer of `navigator.credentials.create`, if its form is right. */
export function readRegistration(value: unknown) {
  if (!isObject(value) || !isObject(value.response)) return undefined;
  const { id, rawId = id, type } = value;
  const { clientDataJSON, attestationObject, transports = [] } = value.response;
  if (typeof id !== 'string' || !BASE64URL.test(id) || rawId !== id || type !== 'public-key') return undefined;
  if (!isBase64url(clientDataJSON) || !isBase64url(attestationObject)) return undefined;
  const known = Array.isArray(transports) ? transports.filter((one) => typeof one === 'string') : [];
  const response = { clientDataJSON, attestationObject, transports: known };
  return { id, rawId: id, type: 'public-key' as const, response, clientExtensionResults: {} };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer as a form sends it. */
export function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
