/**
 * A machine user's signed assertion as an authorization grant (RFC 7523 section 3).
 *
 * Guarantee: an assertion that does not come from an active machine user with a valid key is refused with
 * `invalid_grant`. The error names problems of the assertion's own content; an unknown or expired key, another user's
 * key, a bad signature and an inactive user all give the same error.
 * An assertion may be reused until it expires, as published clients do; so it may live at most an hour.
 */
import { decodeProtectedHeader, importJWK, type JWTPayload, errors as joseErrors, jwtVerify } from 'jose';
import { errors } from 'oidc-provider';
import type { Db } from '../../../db/pool.ts';
import { idProblem } from '../../../fields/fields.ts';
import { findUser, type User } from '../../../users/store.ts';
import { findKey, type VerificationKey } from '../../machines/keys-store.ts';

/** Seconds. */
const MAX_AGE = 3600;
const CLOCK_TOLERANCE = 30;

/**
 * The user who signed the assertion.
 * @param audiences the assertion must name one of them: the issuer or the token endpoint
 * @throws OIDCProviderError `invalid_grant`
 */
export async function checkAssertion(db: Db, assertion: string, audiences: string[]): Promise<User> {
  const key = await keyOf(db, assertion);
  if (!key) throw refused();
  const claims = await verified(assertion, key, audiences);
  checkLifetime(claims);
  const user = await findUser(db, key.userId);
  if (user?.state !== 'active' || user.kind !== 'machine') throw refused();
  return user;
}

async function keyOf(db: Db, assertion: string): Promise<VerificationKey | undefined> {
  let kid: unknown;
  try {
    ({ kid } = decodeProtectedHeader(assertion));
  } catch {
    throw wrong('is not a JWT');
  }
  if (typeof kid !== 'string' || idProblem(kid)) throw wrong('must name its key in the header "kid"');
  const key = await findKey(db, kid);
  return key && (key.expiresAt === null || key.expiresAt.getTime() > Date.now()) ? key : undefined;
}

async function verified(assertion: string, key: VerificationKey, audience: string[]): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(assertion, await importJWK(key.publicJwk, 'RS256'), {
      algorithms: ['RS256'],
      audience,
      issuer: key.userId,
      subject: key.userId,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE,
    });
    return payload;
  } catch (error) {
    throw explained(error);
  }
}

/** An issuer or subject other than the key's owner gives the same error as a bad signature. */
function explained(error: unknown): Error {
  if (error instanceof joseErrors.JWTExpired) return wrong('has expired');
  if (error instanceof joseErrors.JOSEAlgNotAllowed) return wrong('must be signed with RS256');
  if (!(error instanceof joseErrors.JWTClaimValidationFailed)) return refused(error);
  if (error.claim === 'aud') return wrong('must name the issuer or the token endpoint as "aud"');
  if (error.claim === 'exp') return wrong('must have an "exp"');
  if (error.claim === 'nbf') return wrong('is not valid yet');
  return refused(error);
}

function checkLifetime({ exp = 0, iat }: JWTPayload): void {
  const now = Date.now() / 1000;
  if (exp > now + MAX_AGE + CLOCK_TOLERANCE) throw wrong('must expire within an hour');
  if (iat === undefined) return;
  if (iat > now + CLOCK_TOLERANCE) throw wrong('was issued in the future');
  if (iat < now - MAX_AGE - CLOCK_TOLERANCE) throw wrong('was issued more than an hour ago');
}

function wrong(what: string): Error {
  return new errors.CustomOIDCProviderError('invalid_grant', `The assertion ${what}.`);
}

function refused(cause?: unknown): Error {
  return new errors.InvalidGrant(cause instanceof Error ? cause.message : 'no such key, or its user is not active');
}
