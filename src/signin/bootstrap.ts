/**
 * Sets up a fresh instance: its organization, a machine user with a token and the role IAM_OWNER and, if configured, a
 * first human with that role. No mail is sent.
 *
 * Guarantee: runs once per instance, however many processes start at once; later starts change nothing.
 */
import type { FirstStartSetting } from '../contract/diagnostics.ts';
import { generatedDomain } from '../contract/domain-name.ts';
import { inWords } from '../contract/password-rules.ts';
import { addMember } from '../directory/members.ts';
import { findOrg, insertOrg, wasRemoved } from '../directory/organizations.ts';
import { newPasswordProblems } from '../directory/policies.ts';
import { insertUser } from '../directory/users/store.ts';
import type { Hasher } from '../passwords/hasher.ts';
import { type Config, ConfigError } from '../platform/config.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { isEmailAddress, nameKey } from '../platform/fields.ts';
import { newId, randomToken } from '../platform/ids.ts';
import { callerOfToken } from './authenticate.ts';
import { addPat } from './machines/tokens.ts';

/** Id of the instance's own organization; its row marks the instance as set up. */
export const INSTANCE_ORG = 'muster';
const INSTANCE_NAME = 'Muster';
/** "BOOT" as bytes. */
const LOCK = 0x424f4f54;
const EDITOR = 'system';

export interface BootstrapDeps {
  pool: Pool;
  config: Pick<Config, 'baseUrl' | 'BOOTSTRAP_TOKEN' | 'ADMIN_EMAIL' | 'ADMIN_PASSWORD'>;
  hasher: Hasher;
}

export interface Bootstrapped {
  /** Whether this call set up the instance. */
  created: boolean;
  /** The token, if it was generated here; shown once, as it is not stored. */
  token?: string;
  /** Settings that have no effect, as only the first start uses them. */
  unused: FirstStartSetting[];
}

/**
 * @throws ConfigError if only one of ADMIN_EMAIL and ADMIN_PASSWORD is set, ADMIN_EMAIL is not an email address, or
 *   ADMIN_PASSWORD breaks a rule for passwords
 */
export async function bootstrap({ pool, config, hasher }: BootstrapDeps): Promise<Bootstrapped> {
  if (await isSetUp(pool)) {
    return { created: false, unused: await unusedFirstStartSettings(pool, config) };
  }
  const admin = firstHuman(config);
  if (admin) await requireGoodAdmin(pool, config, admin);
  const passwordHash = admin && (await hasher.hash(admin.password));
  const token = config.BOOTSTRAP_TOKEN ?? randomToken();
  const created = await transaction(pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [LOCK]);
    if (await isSetUp(db)) return false;
    await insertOrg(db, { id: INSTANCE_ORG, name: INSTANCE_NAME }, config.baseUrl, EDITOR);
    await addMachine(db, token);
    if (admin) await addHuman(db, admin.email, passwordHash);
    return true;
  });
  const unused = created ? [] : await unusedFirstStartSettings(pool, config);
  return { created, unused, ...(created && !config.BOOTSTRAP_TOKEN ? { token } : {}) };
}

/**
 * Settings of the first start with which nobody is IAM_OWNER: they were changed since, or their administrator is gone.
 */
export async function unusedFirstStartSettings(
  db: Db,
  { BOOTSTRAP_TOKEN, ADMIN_EMAIL }: Pick<Config, 'BOOTSTRAP_TOKEN' | 'ADMIN_EMAIL'>,
): Promise<FirstStartSetting[]> {
  const unused: FirstStartSetting[] = [];
  if (BOOTSTRAP_TOKEN && !(await callerOfToken(db, BOOTSTRAP_TOKEN))?.isIamOwner) unused.push('BOOTSTRAP_TOKEN');
  if (ADMIN_EMAIL && !(await isOwnersAddress(db, ADMIN_EMAIL))) unused.push('ADMIN_EMAIL');
  return unused;
}

async function isOwnersAddress(db: Db, address: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from instance_members m join users u on u.id = m.user_id
     where 'IAM_OWNER' = any(m.roles) and (u.email_key = $1 or u.user_name_key = $1)`,
    [nameKey(address)],
  );
  return Boolean(rowCount);
}

/** Its organization may have been removed since, by another IAM_OWNER. */
async function isSetUp(db: Db): Promise<boolean> {
  return (await findOrg(db, INSTANCE_ORG)) !== undefined || (await wasRemoved(db, INSTANCE_ORG));
}

function firstHuman(config: BootstrapDeps['config']): { email: string; password: string } | undefined {
  const { ADMIN_EMAIL: email, ADMIN_PASSWORD: password } = config;
  if (email === undefined && password === undefined) return undefined;
  if (email === undefined || password === undefined) {
    throw new ConfigError('ADMIN_EMAIL and ADMIN_PASSWORD belong together: set both or neither.');
  }
  if (!isEmailAddress(email)) throw new ConfigError('ADMIN_EMAIL must be an email address such as ann@example.com.');
  return { email, password };
}

/** The first owner may do everything, so their password follows the policy as any other. Later starts ignore it. */
async function requireGoodAdmin(
  pool: Pool,
  { baseUrl }: BootstrapDeps['config'],
  { email, password }: { email: string; password: string },
): Promise<void> {
  const user = { orgId: null, userName: email, domain: generatedDomain(INSTANCE_NAME, baseUrl), email };
  const problems = await newPasswordProblems(pool, user, password);
  if (problems.length > 0) throw new ConfigError(`ADMIN_PASSWORD ${problems.map(inWords).join(', and it ')}.`);
}

async function addMachine(db: Db, token: string): Promise<void> {
  const user = { id: newId(), orgId: INSTANCE_ORG };
  const machine = { name: 'Muster administrator', description: 'Created at the first start' };
  await insertUser(db, { ...user, userName: 'muster-admin', machine }, EDITOR);
  await addMember(db, { kind: 'instance' }, { userId: user.id, roles: ['IAM_OWNER'] }, EDITOR);
  await addPat(db, user, { token }, EDITOR);
}

/** Adds a person who is IAM_OWNER to the organization of the instance; returns their id. */
export async function addHuman(db: Db, email: string, passwordHash?: string): Promise<string> {
  const userId = newId();
  const name = { givenName: 'Instance', familyName: 'Administrator', displayName: 'Instance Administrator' };
  const human = { ...name, email, emailVerified: true, passwordHash };
  await insertUser(db, { id: userId, orgId: INSTANCE_ORG, userName: email, human }, EDITOR);
  await addMember(db, { kind: 'instance' }, { userId, roles: ['IAM_OWNER'] }, EDITOR);
  return userId;
}
