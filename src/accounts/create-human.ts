/**
 * Creates a human user with all fields of the request, their codes and the verification mail, or nothing.
 *
 * Guarantee: a verification mail is due exactly when the address is not marked verified and its code is not returned; a
 * missing password alone sends nothing. The user is ACTIVE at once; without a password they cannot log in until they
 * set one by a reset.
 *
 * On crash: before the commit nothing exists; after it the mail is already in the outbox.
 */
import type { Config } from '../config.ts';
import { type Details, details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { displayNameOf, GENDERS } from '../fields/fields.ts';
import { TOTP_SEAL } from '../identity/totp/secret.ts';
import { addActive } from '../identity/totp/store.ts';
import { newId } from '../ids.ts';
import type { Org } from '../orgs/store.ts';
import type { Hasher } from '../passwords/hasher.ts';
import { requireGoodPassword } from '../policies/new-password.ts';
import type { Secrets } from '../secrets.ts';
import { insertLinks } from '../users/idp-links.ts';
import { insertMetadata } from '../users/metadata.ts';
import { rememberSlowHash } from '../users/slow-hashes.ts';
import { insertUser, type NewUser } from '../users/store.ts';
import { type ContactDeps, makeEmailCode } from './change-email.ts';
import { makePhoneCode } from './change-phone.ts';
import type { NewHuman } from './human-schema.ts';

export interface HumanDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Hasher;
  config: Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

export interface CreatedHuman {
  userId: string;
  details: Details;
  /** Set if the request asked to return the codes. */
  emailCode?: string;
  phoneCode?: string;
}

/**
 * Adds the user to an existing organization.
 * @throws ApiError 400 PASSWORD-POLICY, 409 when the id or, in the organization, the user name is taken
 */
export async function createHuman(
  deps: HumanDeps,
  { id: orgId, domain }: Pick<Org, 'id' | 'domain'>,
  body: NewHuman,
  editor: string,
): Promise<CreatedHuman> {
  const user = newUser(orgId, body, await passwordOf(deps, { orgId, domain }, body));
  return transaction(deps.pool, async (db) => {
    const { sequence, createdAt } = await insertUser(db, user, editor);
    if (body.metadata.length > 0) await insertMetadata(db, user.id, body.metadata);
    if (body.idpLinks.length > 0) await insertLinks(db, user.id, body.idpLinks);
    if (body.totpSecret) await addActive(db, user.id, deps.secrets.seal(body.totpSecret, TOTP_SEAL));
    const codes = await makeCodes({ ...deps, db }, user.id, body, editor);
    return { userId: user.id, details: details({ sequence, changedAt: createdAt, resourceOwner: orgId }), ...codes };
  });
}

async function passwordOf(
  { pool, hasher }: HumanDeps,
  org: { orgId: string; domain: string },
  { username, email: { email }, password, hashedPassword }: NewHuman,
): Promise<string | undefined> {
  if (!password) {
    if (hashedPassword) await rememberSlowHash(pool, hashedPassword.hash);
    return hashedPassword?.hash;
  }
  await requireGoodPassword(
    pool,
    { ...org, userName: username ?? email, email },
    password.password,
    'password.password',
  );
  return hasher.hash(password.password);
}

function newUser(orgId: string, body: NewHuman, passwordHash: string | undefined): NewUser {
  const { userId, username, profile, email, phone, password, hashedPassword } = body;
  return {
    id: userId ?? newId(),
    orgId,
    userName: username ?? email.email,
    human: {
      ...profile,
      displayName: profile.displayName || displayNameOf(profile.givenName, profile.familyName),
      gender: GENDERS.indexOf(profile.gender),
      email: email.email,
      emailVerified: email.isVerified ?? false,
      phone: phone?.phone,
      phoneVerified: phone?.isVerified,
      passwordHash,
      passwordChangeRequired: (password ?? hashedPassword)?.changeRequired,
    },
  };
}

/** Sends a text message only if the request asks for it: the API requires only the email. */
async function makeCodes(deps: ContactDeps, id: string, { email, phone }: NewHuman, editor: string) {
  const user = { id, state: 'active' } as const;
  const emailCode = email.isVerified ? undefined : await makeEmailCode(deps, user, email, { editor });
  const isAsked = phone?.sendCode !== undefined || phone?.returnCode !== undefined;
  const phoneCode = phone && isAsked ? await makePhoneCode(deps, user, phone, { editor }) : undefined;
  return { emailCode, phoneCode };
}
