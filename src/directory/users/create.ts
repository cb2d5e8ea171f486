/**
 * Creates a human user with all fields of the request, their codes and the verification mail, or nothing.
 *
 * Guarantee: a verification mail is due exactly when the address is not marked verified and its code is not returned; a
 * missing password alone sends nothing. The user is ACTIVE at once; without a password they cannot log in until they
 * set one by a reset.
 */
import type { EmailInput, PhoneInput } from '../../contract/credentials.ts';
import type { NewHuman } from '../../contract/humans.ts';
import { issueCode, mailRequested } from '../../messages/mail/codes.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { TOTP_PURPOSE } from '../../passwords/totp-secret.ts';
import type { Config } from '../../platform/config.ts';
import { type Details, details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { displayNameOf, GENDERS } from '../../platform/fields.ts';
import { newId } from '../../platform/ids.ts';
import { insertLinks } from '../idp-links.ts';
import type { Org } from '../organizations.ts';
import { requireGoodPassword } from '../policies.ts';
import { insertMetadata } from './read.ts';
import { addActive } from './second-factors.ts';
import { rememberSlowHash } from './slow-hashes.ts';
import { insertUser, type NewUser, type User } from './store.ts';

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
  emailCode?: string | undefined;
  phoneCode?: string | undefined;
}

/**
 * Adds the user to an existing organization.
 * @throws ApiError 400 PASSWORD-POLICY, 409 when the id or, in the organization, the user name or an account at a provider is taken
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
    if (body.idpLinks.length > 0) await insertLinks(db, { id: user.id, orgId }, body.idpLinks);
    if (body.totpSecret) await addActive(db, user.id, deps.secrets.seal(body.totpSecret, TOTP_PURPOSE));
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

/** What a code for an email address needs. */
export interface EmailDeps {
  /** The transaction's connection. */
  db: Db;
  secrets: Secrets;
  config: Pick<Config, 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

/** What codes for an email address and a phone number need. */
export interface ContactDeps extends EmailDeps {
  config: Pick<Config, 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

/** How a code is delivered; by email if neither field is set. */
export type EmailCodeChoice = Pick<EmailInput, 'sendCode' | 'returnCode'>;

/**
 * Emails a code for the address, or returns it. An INITIAL user gets the code of the initialisation mail, which
 * confirms the address and sets the first password.
 * @param by.address a new address to confirm; absent: the one that the user has
 * @throws ApiError 429 MAIL-LIMIT
 */
export async function makeEmailCode(
  deps: EmailDeps,
  user: Pick<User, 'id' | 'state'>,
  choice: EmailCodeChoice,
  { editor, address }: { editor: string; address?: string | undefined },
): Promise<string | undefined> {
  const purpose = user.state === 'initial' ? 'initialise' : 'verify_email';
  const code = { userId: user.id, codeTtlMs: deps.config.CODE_TTL_MS, address };
  if (choice.returnCode) return issueCode(deps.db, deps.secrets, { ...code, purpose });
  await mailRequested(deps, { ...code, kind: purpose, urlTemplate: choice.sendCode?.urlTemplate }, editor);
  return undefined;
}

/** @param before whether the same value was verified before; used only if the input says nothing */
export function verifiedBy(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean | undefined; sendCode?: unknown; returnCode?: unknown },
  before: boolean,
): boolean {
  return isVerified ?? (before && sendCode === undefined && returnCode === undefined);
}

/** How a code is delivered; as a text message if the field is not set. */
export type PhoneCodeChoice = Pick<PhoneInput, 'returnCode'>;

/**
 * Sends a code to the number, or returns it. A new user gets one only if the request asked for it.
 * @param by.address a new number to confirm; absent: the one that the user has
 * @throws ApiError 429 MAIL-LIMIT
 */
export async function makePhoneCode(
  deps: ContactDeps,
  user: Pick<User, 'id'>,
  choice: PhoneCodeChoice,
  { editor, address }: { editor: string; address?: string | undefined },
): Promise<string | undefined> {
  const code = { userId: user.id, codeTtlMs: deps.config.PHONE_CODE_TTL_MS, address };
  if (choice.returnCode) return issueCode(deps.db, deps.secrets, { ...code, purpose: 'verify_phone' });
  await mailRequested(deps, { ...code, kind: 'verify_phone' }, editor);
  return undefined;
}
