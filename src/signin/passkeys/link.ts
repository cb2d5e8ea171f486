/**
 * The mail with a link to add a passkey, for users who are invited to: by a manager, or by an import
 * (imports/run/write-batch.sql); and what the link opens.
 *
 * Guarantee: the link proves the mailbox and nothing else, so it is not for users who have a second factor or lost one in
 * a move, nor for those who have a password and an address that nobody has verified: they sign in first. Who is left out
 * of mail codes gets none. It works once, and verifies the address.
 */
import { PASSKEYS_ALLOWED } from '../../directory/policies.ts';
import { findUser, stateNow, type User } from '../../directory/users/store.ts';
import { type Code, findOpenCode, mailCode, revokeCodes, useCode } from '../../messages/mail/codes.ts';
import type { Config } from '../../platform/config.ts';
import type { AppendedEvent } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { RelyingPartyConfig } from '../../platform/relying-party.ts';
import { changeUser, requireHuman } from '../credentials/change.ts';
import type { CeremonyDeps } from '../webauthn/ceremony.ts';
import { addPasskey, creationOptions, requireParty, verifyRegistration } from './registration.ts';

/** The code that sets a first password may add a passkey in place of it. */
const PURPOSES = ['add_passkey', 'initialise'] as const;

/** What came with the link. */
export interface PasskeyLink {
  userId: string;
  code: string;
}

/**
 * Mails the link to the user, whose row is locked.
 * @throws ApiError 400 USER-NOT-HUMAN, EMAIL-NONE, PASSKEY-UNAVAILABLE, PASSKEY-LINK-REFUSED
 */
export async function mailPasskeyLink(
  { db, config }: { db: Db; config: RelyingPartyConfig & Pick<Config, 'CODE_TTL_MS'> },
  user: User,
  { editor, urlTemplate }: { editor: string; urlTemplate?: string | undefined },
): Promise<AppendedEvent> {
  requireHuman(user, 'USER-NOT-HUMAN');
  requireParty({ config });
  if (user.email === null) throw new ApiError('FAILED_PRECONDITION', 'EMAIL-NONE', 'The user has no email address.');
  if (!(await mayUseLink(db, user))) throw refused();
  await mailCode(db, { kind: 'add_passkey', userId: user.id, urlTemplate, codeTtlMs: config.CODE_TTL_MS });
  return changeUser(db, user, { type: 'user.human.passkey.code.added', editor });
}

/** Whether the mailbox is enough for this user to add a passkey. */
async function mayUseLink(db: Db, user: User): Promise<boolean> {
  const state = stateNow(user);
  if (state !== 'active' && state !== 'initial') return false;
  if (user.withoutMailCodes || (user.hasPassword && !user.emailVerified)) return false;
  const { rows } = await db.query<{ may: boolean }>(
    `select not has_second_factor($1) and ${PASSKEYS_ALLOWED}
       and not exists (select from user_factors where user_id = $1 and lost_at is not null) as may
     from users u where u.id = $1`,
    [user.id],
  );
  return rows[0]?.may === true;
}

function refused(): ApiError {
  const message =
    'A link is not enough for this user: they are locked, deactivated or left out of mail codes, have a second factor or ' +
    'lost one in a move, have a password and an address that is not verified, or the policy has passkeys off. Let them ' +
    'sign in and add a passkey in their account.';
  return new ApiError('FAILED_PRECONDITION', 'PASSKEY-LINK-REFUSED', message);
}

interface OpenLink {
  user: User;
  code: Code;
}

/** The user of an open link, as long as it is enough for them; undefined for all others alike. */
async function openLink(
  { pool, secrets }: CeremonyDeps,
  { userId, code: entered }: PasskeyLink,
): Promise<OpenLink | undefined> {
  const code = await findOpenCode({ db: pool, secrets }, { userId, entered, purposes: PURPOSES });
  const user = code && (await findUser(pool, userId));
  return code && user && (await mayUseLink(pool, user)) ? { user, code } : undefined;
}

function holderOf({ code }: OpenLink) {
  return { purpose: 'add', holder: `link ${code.id}` } as const;
}

/** What the page of a link needs. */
export interface LinkOffer {
  /** What it asks the browser, as JSON. */
  options: string;
  /** The link may set the first password instead. */
  setsPassword: boolean;
}

/** What the page of a link offers; undefined if the link is no longer good. */
export async function offerOfLink(deps: CeremonyDeps, link: PasskeyLink): Promise<LinkOffer | undefined> {
  const opened = await openLink(deps, link);
  if (!opened) return undefined;
  const options = JSON.stringify(await creationOptions(deps, opened.user, holderOf(opened)));
  return { options, setsPassword: opened.code.purpose === 'initialise' };
}

/**
 * Adds the passkey that the browser made. A new user becomes active.
 * @returns false if the link is no longer good @throws ApiError 400 PASSKEY-NOT-ACCEPTED, 409 PASSKEY-TAKEN
 */
export async function addByLink(
  deps: CeremonyDeps,
  { answer, ...link }: PasskeyLink & { answer: unknown },
): Promise<boolean> {
  const opened = await openLink(deps, link);
  if (!opened) return false;
  const made = await verifyRegistration(deps, { answer, of: holderOf(opened), userId: link.userId });
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, link.userId, 'for update');
    if (!user || !(await mayUseLink(db, user)) || !(await useCode(db, opened.code))) return false;
    if (opened.code.mailed) await verify(db, user);
    await addPasskey(db, user, { id: newId(), name: '', made });
    return true;
  });
}

/** The link came to the address. The mails that would do the same are of no use any more. */
async function verify(db: Db, user: User): Promise<void> {
  const isNew = user.state === 'initial';
  if (user.emailVerified && !isNew) return;
  await revokeCodes(db, user.id, ['verify_email', 'initialise']);
  const type = isNew ? 'user.human.initialised' : 'user.human.email.verified';
  const set = `email_verified = true, state = case when state = 'initial' then 'active' else state end`;
  await changeUser(db, user, { type, editor: user.id }, set);
}
