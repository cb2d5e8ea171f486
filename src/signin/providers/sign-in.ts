/**
 * Whom the answer of an external provider signs in, and what becomes of an account that nobody here is linked to.
 *
 * Guarantee: only a link signs somebody in, by the provider and the subject, never an address. An account that two users
 * of an organization hold signs in neither. The provider of an organization signs in only users of that organization, no
 * IAM_OWNER, and nobody with more rights than those of who set it up. All of this is checked again with the user's row
 * locked, and when a second factor is entered later. A link is made only by the rule of the provider or the organization
 * (`linking`), which is `refuse` unless somebody chose another one.
 *
 * On crash: at most a link or a user was stored; the next sign-in uses it.
 */
import { LINKING_RULES, type LinkingRule } from '../../contract/policies.ts';
import { addLink, holdersOf, insertLinks } from '../../directory/idp-links.ts';
import { rightsOf } from '../../directory/members.ts';
import { findOrg, isActiveOrg } from '../../directory/organizations.ts';
import { type PROVIDER_FAILURES, recordProviderFailure } from '../../directory/sign-in-events.ts';
import { findUser, insertUser, stateNow, type User } from '../../directory/users/store.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { LoginPolicies, Users } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { displayNameOf, isEmailAddress, nameKey, textProblem } from '../../platform/fields.ts';
import { newId } from '../../platform/ids.ts';
import { publish } from '../../platform/telemetry.ts';
import { countedAttempt } from '../login/attempts.ts';
import {
  type CheckedLogin,
  concludeByProvider,
  type PasswordProof,
  type ProvidedProof,
  requireActive,
  wrongCredentials,
} from '../login/check.ts';
import type { LoginDeps, Origin } from '../login/origin.ts';
import { findLogin, type Login } from '../login/store.ts';
import { claim, vouchesFor } from './claim.ts';
import type { Identity, ProviderError } from './protocol.ts';
import { voiceOf } from './settings.ts';
import { findIdp, type Idp, mayDecide } from './store.ts';

/** What a provider answered, and the organization within which it counts. */
export interface Provided {
  idp: Idp;
  identity: Identity;
  /** The organization that the application named. */
  orgId?: string | undefined;
}

/** Why nobody is signed in. */
export type ProviderRefusal =
  | 'provider_undated'
  | 'link_missing'
  | 'link_held_twice'
  | 'provider_not_allowed'
  | 'address_taken';

export type Decision =
  | { is: 'user'; userId: string }
  /** The account belongs to users of several organizations, and nobody said which one is meant. */
  | { is: 'choose'; orgIds: string[] }
  /** Somebody who signs in once in another way may link the account to theirs. */
  | { is: 'confirm' }
  | { is: 'refused'; reason: ProviderRefusal };

/**
 * Decides whom the answer signs in. Links or creates a user where the rule says so.
 * @param chosen the organization that the person chose, among those of their account
 */
export async function signInByProvider({ pool }: { pool: Pool }, given: Provided, chosen?: string): Promise<Decision> {
  const { idp, identity } = given;
  if (isOfOther(given)) return refused('provider_not_allowed');
  if (identity.isUndated) return refused('provider_undated');
  const orgId = idp.orgId ?? given.orgId;
  const holders = await holdersOf(pool, idp, identity.subjects, orgId ?? chosen);
  const orgIds = [...new Set(holders.map((holder) => holder.orgId))];
  if (orgIds.length > 1) return { is: 'choose', orgIds };
  const [holder] = holders;
  if (!holder) return chosen === undefined ? unlinked(pool, given, orgId) : refused('link_missing');
  if (holders.length > 1) return refused('link_held_twice');
  return (await mayDecide(pool, idp, holder.userId))
    ? { is: 'user', userId: holder.userId }
    : refused('provider_not_allowed');
}

/** Whether the application named another organization than that of the provider. */
function isOfOther({ idp, orgId }: Provided): boolean {
  return idp.orgId !== null && orgId !== undefined && orgId !== idp.orgId;
}

/** The only user who holds the account, if the provider may decide about them. Changes nothing. */
export async function soleHolder({ pool }: { pool: Pool }, given: Provided): Promise<string | undefined> {
  const { idp, identity } = given;
  if (isOfOther(given)) return undefined;
  const [holder, ...others] = await holdersOf(pool, idp, identity.subjects, idp.orgId ?? given.orgId);
  if (!holder || others.length > 0 || !(await mayDecide(pool, idp, holder.userId))) return undefined;
  return holder.userId;
}

function refused(reason: ProviderRefusal): Decision {
  return { is: 'refused', reason };
}

/** Why a visit at a provider signed in nobody. */
export type VisitFailure = (typeof PROVIDER_FAILURES)[number];

const FAILURES: Readonly<Record<ProviderError['reason'], VisitFailure>> = {
  unavailable: 'provider_unavailable',
  refused: 'provider_refused',
  'not-trusted': 'provider_refused',
  cancelled: 'provider_cancelled',
};

export function failureOf(reason: ProviderError['reason']): VisitFailure {
  return FAILURES[reason];
}

/**
 * Records that a visit at a provider signed in nobody, and counts it.
 * @param orgId that of the visit; default: that of the provider
 */
export async function recordNobody(db: Db, idp: Idp, reason: VisitFailure, orgId = idp.orgId): Promise<void> {
  await recordProviderFailure(db, reason, { id: idp.id, orgId });
  publish('provider', { idpId: idp.id, outcome: reason });
}

/** An account without a link. */
async function unlinked(pool: Pool, given: Provided, orgId: string | undefined): Promise<Decision> {
  switch (await ruleOf(pool, given.idp, orgId)) {
    case 'confirm':
      return { is: 'confirm' };
    case 'verifiedAddress':
      return orgId === undefined ? refused('link_missing') : linkByAddress(pool, given, orgId);
    case 'create':
      return orgId === undefined ? refused('link_missing') : create(pool, given, orgId);
    default:
      return refused('link_missing');
  }
}

const RULE = `select linking from login_policies where org_id = $1 or org_id is null order by org_id nulls last limit 1`;
const ANY_CONFIRMS = `select linking from login_policies where linking = 'confirm' limit 1`;

/** Rules that need nobody who is known here. */
const AUTOMATIC: ReadonlySet<LinkingRule> = new Set<LinkingRule>(['verifiedAddress', 'create']);

/**
 * The rule of the provider, else of the organization. Without one, `confirm` where that of any organization is. A
 * provider of the instance links and creates nobody by itself in an organization whose own rule does not let it.
 */
async function ruleOf(db: Db, idp: Idp, orgId: string | undefined): Promise<LinkingRule> {
  const { linking } = idp.settings;
  if (linking && (idp.orgId !== null || !AUTOMATIC.has(linking))) return linking;
  const ofOrg = await policyRule(db, orgId);
  return linking && LINKING_RULES.indexOf(linking) < LINKING_RULES.indexOf(ofOrg) ? linking : ofOrg;
}

async function policyRule(db: Db, orgId: string | undefined): Promise<LinkingRule> {
  const { rows } = await db.query<Pick<LoginPolicies, 'linking'>>(
    orgId === undefined ? ANY_CONFIRMS : RULE,
    orgId === undefined ? [] : [orgId],
  );
  return rows[0]?.linking ?? 'refuse';
}

/** What a link needs of an account. */
export type Account = Pick<Identity, 'subjects' | 'email' | 'name' | 'userName'>;

export function accountOf({ subjects, email, name, userName }: Identity): Account {
  return {
    subjects,
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    ...(userName === undefined ? {} : { userName }),
  };
}

/** The link of the account, as it is stored. */
function linkOf({ idp, identity }: LinkedAccount) {
  const [userId = ''] = identity.subjects;
  const userName = identity.email ?? identity.userName ?? identity.name ?? '';
  return { idpId: idp.id, userId, userName: userName.slice(0, 200) };
}

/** The states in which a provider signs a user in. */
const MAY_ENTER: ReadonlySet<string> = new Set(['active', 'initial']);

const WITH_ADDRESS = `select u.id from users u where u.org_id = $1 and u.email_key = $2 and u.email_verified
  and u.kind = 'human' limit 2`;

/** Links the only user whose verified address the provider vouches for, unless they have an account there already. */
function linkByAddress(pool: Pool, given: Provided, orgId: string): Promise<Decision> {
  const { idp, identity } = given;
  return transaction(pool, async (db) => {
    if (!vouchesFor(idp, identity, identity.email)) return refused('link_missing');
    const { rows } = await db.query<Pick<Users, 'id'>>(WITH_ADDRESS, [orgId, nameKey(identity.email ?? '')]);
    const user = rows.length === 1 ? await findUser(db, rows[0]?.id ?? '', 'for update') : undefined;
    // The address may have changed while the row was waited for.
    if (!user?.emailVerified || nameKey(user.email ?? '') !== nameKey(identity.email ?? ''))
      return refused('link_missing');
    if (!MAY_ENTER.has(stateNow(user))) return refused('link_missing');
    // The organization decides the rule; nobody but an IAM_OWNER decides who is one.
    if ((await rightsOf(db, user.id)).isIamOwner || !(await mayDecide(db, idp, user.id)))
      return refused('link_missing');
    if (await hasLink(db, user, idp)) return refused('link_missing');
    await addLink(db, user, linkOf(given), user.id);
    return { is: 'user', userId: user.id };
  });
}

/** Whether the user has an account at this provider: another one is not theirs only because the address is. */
async function hasLink(db: Db, user: User, idp: Idp): Promise<boolean> {
  const { rows } = await db.query<{ subject: string }>(
    'select external_user_id as subject from user_idp_links where user_id = $1',
    [user.id],
  );
  const holders = await holdersOf(
    db,
    idp,
    rows.map(({ subject }) => subject),
    user.orgId,
  );
  return holders.some(({ userId }) => userId === user.id);
}

/** Adds a user without roles, for an address whose domain the provider may create users of. */
function create(pool: Pool, given: Provided, orgId: string): Promise<Decision> {
  const { idp, identity } = given;
  const { email = '', emailVerified } = identity;
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
  const isListed = idp.settings.createDomains.some((one) => one.toLowerCase() === domain);
  if (!emailVerified || !isListed || !isEmailAddress(email)) return Promise.resolve(refused('link_missing'));
  return transaction(pool, async (db) => {
    const org = await findOrg(db, orgId);
    if (!org || !isActiveOrg(org)) return refused('link_missing');
    const text = `select from users where org_id = $1 and (email_key = $2 or user_name_key = $2) limit 1`;
    if ((await db.query(text, [orgId, nameKey(email)])).rowCount) return refused('address_taken');
    const id = newId();
    await insertUser(db, { id, orgId, userName: email, human: personOf(identity, email) }, id);
    await insertLinks(db, { id, orgId }, [linkOf(given)]);
    await appendEvent(db, {
      aggregateType: 'user',
      aggregateId: id,
      resourceOwner: orgId,
      type: 'user.human.link.added',
      editor: id,
      payload: { idpId: idp.id },
    });
    return { is: 'user', userId: id } as const;
  }).catch((error: unknown) => {
    if (error instanceof ApiError && error.id === 'USER-NAME-TAKEN') return refused('address_taken');
    if (error instanceof ApiError && error.id === 'IDP-LINK-HELD') return refused('link_missing'); // just now
    throw error;
  });
}

function personOf({ givenName, familyName, name, locale }: Identity, email: string) {
  const [mailbox = ''] = email.split('@');
  const usable = (value: string | undefined) => (value && !textProblem(value, 200) ? value : undefined);
  const given = usable(givenName) ?? usable(name) ?? mailbox;
  const family = usable(familyName) ?? given;
  return {
    givenName: given,
    familyName: family,
    displayName: usable(name) ?? displayNameOf(given, family),
    ...(locale && /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(locale) ? { preferredLanguage: locale } : {}),
    email,
    emailVerified: true,
  };
}

/** What a provider said, as later steps of the sign-in keep it. */
export function proofOfProvider({ idp, identity }: Provided): ProvidedProof {
  const { subjects, amr, authTime } = identity;
  return { idpId: idp.id, voice: voiceOf(idp), subjects, amr, ...(authTime === undefined ? {} : { authTime }) };
}

/**
 * Checks a login by a provider: what it has begun with ends (`claim`), the user's state, and the second factor.
 * @param proven called with the proof, before anything else is checked
 * @throws ApiError 400 SESSION-CREDENTIALS when the link is gone; SESSION-USER-LOCKED, -INACTIVE,
 *   SESSION-TOTP-REQUIRED, SESSION-MFA-SETUP-REQUIRED; 429 SESSION-FAILURES, SESSION-ATTEMPTS
 */
export async function checkByProvider(
  deps: LoginDeps,
  { userId, ...given }: Provided & { userId: string },
  origin: Origin,
  proven?: (by: PasswordProof) => void,
): Promise<CheckedLogin> {
  return countedAttempt(deps, { ...origin, user: { userId } }, async ({ passed }) => {
    const now = await enter(deps.pool, userId, given);
    const byProvider = proofOfProvider(given);
    proven?.({ id: now.id, passwordSetAt: now.passwordSetAt, byProvider });
    requireActive(now.state);
    return concludeByProvider(now, byProvider, undefined, passed);
  });
}

/** @returns the login as it is then @throws ApiError 400 SESSION-CREDENTIALS */
function enter(pool: Pool, userId: string, given: Provided): Promise<Login> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user) throw wrongCredentials();
    await requireHolder(db, user, given.idp, given.identity.subjects);
    await claim(db, user, given);
    const login = await findLogin(db, { userId });
    if (!login) throw wrongCredentials();
    return login;
  });
}

async function requireHolder(db: Db, user: Pick<User, 'id' | 'orgId'>, idp: Idp, subjects: string[]): Promise<void> {
  const isOfOther = idp.orgId !== null && idp.orgId !== user.orgId;
  const holders = isOfOther || !idp.settings.isEnabled ? [] : await holdersOf(db, idp, subjects, user.orgId);
  const isOnly = holders.length === 1 && holders[0]?.userId === user.id;
  if (!isOnly || !(await mayDecide(db, idp, user.id))) throw wrongCredentials();
}

/**
 * For the steps after the provider: it may still sign this user in.
 * @throws ApiError 400 SESSION-CREDENTIALS
 */
export async function requireStillProvided({ pool }: { pool: Pool }, { id, byProvider }: PasswordProof): Promise<void> {
  if (!byProvider) return;
  const [user, idp] = [await findUser(pool, id), await findIdp(pool, byProvider.idpId)];
  if (!user || !idp || byProvider.voice !== voiceOf(idp)) throw wrongCredentials();
  await requireHolder(pool, user, idp, byProvider.subjects);
}

/**
 * Links the account to the user, who has signed in, if the rule is `confirm`.
 * @returns false if the rule or somebody else's link does not allow it
 */
export function linkConfirmed(deps: { pool: Pool }, userId: string, given: LinkedAccount): Promise<boolean> {
  return link(deps, userId, given, async (db, idp, orgId) => (await ruleOf(db, idp, orgId)) === 'confirm');
}

/** Links the account to the user, who has just signed in and asked for it. @returns as `linkConfirmed` */
export function linkOwn(deps: { pool: Pool }, userId: string, given: LinkedAccount): Promise<boolean> {
  return link(deps, userId, given, async () => true);
}

interface LinkedAccount {
  idp: Idp;
  identity: Account;
}

async function link(
  { pool }: { pool: Pool },
  userId: string,
  given: LinkedAccount,
  allows: (db: Db, idp: Idp, orgId: string) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await transaction(pool, async (db) => {
      const user = await findUser(db, userId, 'for update');
      const idp = await findIdp(db, given.idp.id);
      if (!user || !idp?.settings.isEnabled || (idp.orgId !== null && idp.orgId !== user.orgId)) return false;
      if (!(await allows(db, idp, user.orgId)) || !(await mayDecide(db, idp, userId))) return false;
      const holders = await holdersOf(db, idp, given.identity.subjects, user.orgId);
      if (holders.length > 0) return holders.every((holder) => holder.userId === userId);
      await addLink(db, user, linkOf(given), userId);
      return true;
    });
  } catch (error) {
    if (error instanceof ApiError && error.id === 'IDP-LINK-HELD') return false;
    throw error;
  }
}
