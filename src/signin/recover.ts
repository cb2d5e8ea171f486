/**
 * Makes a person IAM_OWNER who can sign in, without the consent of another one: for `muster admin recover`, when every
 * administrator has lost access.
 *
 * Whoever calls this has the database and ENCRYPTION_KEY, and so all rights already.
 *
 * Guarantee: one transaction, with an audit event. Nobody else is changed, and no session is ended. The link is in no
 * log, event or table.
 * On crash: nothing is done, or only the link is lost; run it again.
 */
import { pageLink } from '../contract/link-templates.ts';
import { addMember } from '../directory/members.ts';
import { hasFailedLogins } from '../directory/sign-in-events.ts';
import { changeState } from '../directory/users/states.ts';
import { findUser, hasLoginName, loginNames, type User } from '../directory/users/store.ts';
import { issueCode } from '../messages/mail/codes.ts';
import type { Config } from '../platform/config.ts';
import { appendEvent, SYSTEM } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import type { Named } from '../platform/db/rows.ts';
import type { Users } from '../platform/db/tables.ts';
import type { Secrets } from '../platform/encryption.ts';
import { StartError } from '../platform/errors.ts';
import { isEmailAddress, nameKey } from '../platform/fields.ts';
import { randomToken } from '../platform/ids.ts';
import { addHuman, INSTANCE_ORG } from './bootstrap.ts';
import { resetFactors } from './factors/reset.ts';
import { addPat } from './machines/tokens.ts';

/** How long the token of a machine user is valid: long enough to create a lasting one with it. */
const TOKEN_HOURS = 24;
/** Users who are named when the text fits several. */
const SHOWN = 10;

export interface RecoverDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'RESET_CODE_TTL_MS'>;
}

export interface RecoverRequest {
  /** Id, login name or email address. */
  name: string;
  /** Creates a person with `name` as address, in the organization of the instance. */
  create?: boolean | undefined;
  /** For somebody who has lost their second factor too. */
  removeSecondFactor?: boolean | undefined;
  /** Who runs the command where, for the audit event. */
  by: string;
}

export interface Recovered {
  userId: string;
  loginName: string;
  /** What was done, in the order in which it was done. */
  changes: ('created' | 'reactivated' | 'unlocked' | 'secondFactorRemoved' | 'madeOwner')[];
  /** Sets a new password, once. For a person. */
  link?: string;
  /** For a machine user. */
  token?: string;
  /** When the link or the token ends. */
  expiresAt: Date;
}

/**
 * @throws StartError when the name fits nobody or several, or, to create somebody, is no address or taken; or when the
 *   organization is deactivated
 */
export function recoverAdministrator(deps: RecoverDeps, request: RecoverRequest): Promise<Recovered> {
  return transaction(deps.pool, async (db) => {
    const changes: Recovered['changes'] = [];
    if (request.create) await requireActive(db, INSTANCE_ORG);
    const userId = request.create ? await create(db, request.name) : await findOne(db, request.name);
    if (request.create) changes.push('created');
    const user = (await findUser(db, userId, 'for update')) as User;
    await requireActive(db, user.orgId);
    await letIn({ db, secrets: deps.secrets }, user, changes);
    if (request.removeSecondFactor && (await resetFactors(db, user, SYSTEM))) changes.push('secondFactorRemoved');
    if (await makeOwner(db, userId)) changes.push('madeOwner');
    await appendEvent(db, {
      aggregateType: 'instance',
      aggregateId: 'instance',
      resourceOwner: 'instance',
      type: 'instance.administrator.recovered',
      editor: SYSTEM,
      payload: { userId, by: request.by, changes },
    });
    const [loginName] = loginNames(user);
    return { userId, loginName, changes, ...(await credential(deps, db, user)) };
  });
}

/** Nobody of an organization that is deactivated, or to be removed, could sign in. */
async function requireActive(db: Db, orgId: string): Promise<void> {
  const { rows } = await db.query<{ isActive: boolean }>('select org_is_active($1) as "isActive"', [orgId]);
  if (rows[0]?.isActive) return;
  throw new StartError(
    `The organization ${orgId} is deactivated or removed, so its users cannot sign in. Recover an IAM_OWNER of another organization, who can reactivate it.`,
  );
}

async function findOne(db: Db, name: string): Promise<string> {
  const exact = await findUser(db, name);
  if (exact) return exact.id;
  const values: unknown[] = [nameKey(name)];
  const hasName = hasLoginName(name, (value) => `$${values.push(value)}`);
  const { rows } = await db.query<Named<Users, { id: 'id'; orgId: 'org_id' }>>(
    `select u.id, u.org_id as "orgId" from users u
     where u.user_name_key = $1 or u.email_key = $1 or ${hasName} order by u.org_id, u.id limit ${SHOWN + 1}`,
    values,
  );
  const [found, ...others] = rows;
  if (!found) {
    throw new StartError(
      `There is no user with the id, login name or address ${name}. To create this administrator, add --create.`,
    );
  }
  if (others.length === 0) return found.id;
  const shown = rows.slice(0, SHOWN).map(({ id, orgId }) => `${id} of ${orgId}`);
  const more = rows.length > SHOWN ? ' and others' : '';
  throw new StartError(`Several users have the name or address ${name}. Name one by id: ${shown.join(', ')}${more}.`);
}

async function create(db: Db, email: string): Promise<string> {
  if (!isEmailAddress(email)) {
    throw new StartError('With --create, the name must be an email address such as ann@example.com.');
  }
  const { rows } = await db.query<Pick<Users, 'id'>>(
    'select id from users where org_id = $1 and (user_name_key = $2 or email_key = $2) limit 1',
    [INSTANCE_ORG, nameKey(email)],
  );
  if (rows[0]) {
    throw new StartError(`The user ${rows[0].id} has this name or address already. Leave out --create.`);
  }
  return addHuman(db, email);
}

/** An INITIAL user becomes active with the password that the link sets. */
async function letIn(deps: { db: Db; secrets: Secrets }, user: User, changes: Recovered['changes']): Promise<void> {
  if (user.state === 'inactive') {
    await changeState(deps, user, 'reactivate', SYSTEM);
    changes.push('reactivated');
  } else if (
    user.state === 'locked' ||
    (user.state === 'active' && (await hasFailedLogins(deps.db, deps.secrets, user.id)))
  ) {
    await changeState(deps, user, 'unlock', SYSTEM);
    changes.push('unlocked');
  }
}

async function makeOwner(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query('select from instance_members where user_id = $1', [userId]);
  if (rowCount) return false;
  await addMember(db, { kind: 'instance' }, { userId, roles: ['IAM_OWNER'] }, SYSTEM);
  return true;
}

async function credential(
  { secrets, config }: RecoverDeps,
  db: Db,
  user: User,
): Promise<Pick<Recovered, 'link' | 'token' | 'expiresAt'>> {
  if (user.kind === 'machine') {
    const token = randomToken();
    const expiresAt = new Date(Date.now() + TOKEN_HOURS * 60 * 60_000);
    await addPat(db, user, { token, expiresAt }, SYSTEM);
    return { token, expiresAt };
  }
  const codeTtlMs = config.RESET_CODE_TTL_MS;
  const code = await issueCode(db, secrets, { userId: user.id, purpose: 'reset_password', codeTtlMs });
  const link = pageLink(config.baseUrl, 'reset_password', { userId: user.id, orgId: user.orgId, code });
  return { link, expiresAt: new Date(Date.now() + codeTtlMs) };
}
