/**
 * Adds, lists, names and removes the passkeys of a user.
 *
 * Guarantee: a passkey is added only by the answer to a challenge that was made for this user, whom the authenticator
 * has verified; a credential id that anybody has is refused. Each change is one transaction with its event and a mail to
 * the address. Who lost a second factor in a move has a new one with it. The last way in cannot be removed by the user.
 *
 * On crash: a challenge that was answered is used up, and the person begins again.
 */
import { createHash } from 'node:crypto';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { requireOrg } from '../../directory/organizations.ts';
import { endLostFactor } from '../../directory/users/second-factors.ts';
import { loginNames, type User } from '../../directory/users/store.ts';
import { requireWayIn, type WaysInConfig } from '../../directory/ways-in.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import type { AppendedEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { type RelyingParty, relyingParty } from '../../platform/relying-party.ts';
import { changeUser } from '../credentials/change.ts';
import {
  CEREMONY_MS,
  type CeremonyDeps,
  type CeremonyOf,
  newChallenge,
  openedBy,
  readRegistration,
} from '../webauthn/ceremony.ts';
import { insertPasskey, type NewPasskey, passkeysOf, removePasskeyRow, renamePasskey } from '../webauthn/store.ts';

/** Passkeys and security keys of one user. */
const MOST = 50;
/** ES256, EdDSA and RS256: what authenticators have, in the order of preference. */
const ALGORITHMS = [-7, -8, -257];

/**
 * What `navigator.credentials.create` needs, as JSON.
 * @throws ApiError 400 PASSKEY-UNAVAILABLE, PASSKEY-MOST
 */
export async function creationOptions(deps: CeremonyDeps, user: User, of: CeremonyOf) {
  const { rpId } = requireParty(deps);
  const known = await passkeysOf(deps.pool, user.id);
  if (known.length >= MOST) throw tooMany();
  const [loginName] = loginNames(user);
  return {
    challenge: newChallenge(deps.secrets, of),
    rp: { id: rpId, name: (await requireOrg(deps.pool, user.orgId)).name },
    user: { id: handleOf(user.id).toString('base64url'), name: loginName, displayName: user.displayName || loginName },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    timeout: CEREMONY_MS,
    excludeCredentials: known
      .filter((one) => one.rpId === rpId)
      .map(({ credentialId, transports }) => ({
        type: 'public-key',
        id: credentialId.toString('base64url'),
        transports,
      })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  };
}

/** The id that authenticators keep for the user: at most 64 bytes (WebAuthn section 5.4.3). */
function handleOf(userId: string): Buffer {
  const bytes = Buffer.from(userId);
  return bytes.length <= 64 ? bytes : createHash('sha256').update(bytes).digest();
}

/** @throws ApiError 400 PASSKEY-UNAVAILABLE */
export function requireParty({ config }: Pick<CeremonyDeps, 'config'>): RelyingParty {
  const party = relyingParty(config);
  if (party) return party;
  const message = 'Browsers have no passkeys at the address of this service: it needs https and a domain name.';
  throw new ApiError('FAILED_PRECONDITION', 'PASSKEY-UNAVAILABLE', message);
}

/**
 * Verifies a new passkey and uses its challenge up.
 * @param answer of `navigator.credentials.create`, as JSON
 * @throws ApiError 400 PASSKEY-NOT-ACCEPTED, PASSKEY-UNAVAILABLE
 */
export async function verifyRegistration(
  deps: CeremonyDeps,
  { answer, of, userId }: { answer: unknown; of: CeremonyOf; userId: string },
): Promise<NewPasskey> {
  const { rpId, origins } = requireParty(deps);
  const response = readRegistration(answer);
  if (!response) throw notAccepted();
  const opened = openedBy(deps.secrets, of);
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const verified = await verifyRegistrationResponse({
    response: response as RegistrationResponseJSON,
    expectedChallenge: opened.isOurs,
    expectedOrigin: [...origins],
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch((error: Error) => {
    deps.logger.debug({ userId, reason: error.message }, 'a new passkey was not accepted');
    return { verified: false as const, registrationInfo: undefined };
  });
  if (!verified.verified || !(await opened.spend(deps.pool, userId))) throw notAccepted();
  const { credential, credentialBackedUp: backedUp } = verified.registrationInfo;
  return {
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    signCount: credential.counter,
    rpId,
    userHandle: handleOf(userId),
    transports: response.response.transports.filter((one) => /^[a-z-]{1,20}$/.test(one)).slice(0, 10),
    backedUp,
  };
}

/**
 * Adds a verified passkey to the user, whose row is locked.
 * @throws ApiError 409 PASSKEY-TAKEN; 400 PASSKEY-MOST
 */
export async function addPasskey(
  db: Db,
  user: User,
  { id, name, made }: { id: string; name: string; made: NewPasskey },
): Promise<AppendedEvent> {
  if ((await passkeysOf(db, user.id)).length >= MOST) throw tooMany();
  if (!(await insertPasskey(db, { ...made, id, name, userId: user.id }))) throw taken();
  await endLostFactor(db, user.id);
  await sendNotice(db, user, 'passkey_added');
  return changeUser(db, user, { type: 'user.human.passkey.added', editor: user.id, payload: { passkeyId: id } });
}

/** @throws ApiError 404 PASSKEY-NOT-FOUND */
export async function namePasskey(db: Db, user: User, id: string, name: string): Promise<AppendedEvent> {
  if (!(await renamePasskey(db, user.id, id, name))) throw notFound();
  return changeUser(db, user, { type: 'user.human.passkey.named', editor: user.id, payload: { passkeyId: id } });
}

/**
 * Removes a passkey or security key of the user, whose row is locked.
 * @throws ApiError 404 PASSKEY-NOT-FOUND; for users who remove their own, 400 LAST-WAY-IN
 */
export async function dropPasskey(
  { db, config }: { db: Db; config: WaysInConfig },
  user: User,
  { id, editor }: { id: string; editor: string },
): Promise<AppendedEvent> {
  if (!(await removePasskeyRow(db, user.id, id))) throw notFound();
  if (editor === user.id) await requireWayIn(db, user, config);
  await sendNotice(db, user, 'passkey_removed', editor);
  return changeUser(db, user, { type: 'user.human.passkey.removed', editor, payload: { passkeyId: id } });
}

function notAccepted(): ApiError {
  const message = 'The passkey was not accepted: the answer is wrong, was used before, or took too long.';
  return invalidArgument('PASSKEY-NOT-ACCEPTED', message, [
    { field: 'publicKeyCredential', description: 'is not the answer to the options that were returned' },
  ]);
}

function tooMany(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'PASSKEY-MOST', `A user has at most ${MOST} passkeys. Remove one first.`);
}

function taken(): ApiError {
  return new ApiError('ALREADY_EXISTS', 'PASSKEY-TAKEN', 'This passkey is added already.');
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'PASSKEY-NOT-FOUND', 'The user has no passkey with this id.');
}
