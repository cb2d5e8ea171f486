/**
 * Finds the organization or the user that a person means, and searches users.
 *
 * Guarantee: a name that matches several organizations or users is an error, never resolved by chance. Callers who are
 * not IAM_OWNER find and see only the organizations on which they have a role.
 */
import type { Answer, Sent } from '../../contract/client.ts';
import { type Failure, wrongUsage } from '../terminal/failure.ts';
import type { Api } from './api.ts';
import { isIamOwner, type Me, readMe } from './session.ts';

type FoundOrg = Answer<'searchOrgs'>['result'][number];
type OrgQuery = NonNullable<Sent<'searchOrgs'>['queries']>[number];
/** Of a search, or of the caller's own. */
export type Org = FoundOrg | Me['organizations'][number];

/** @returns the id of the organization with this id, exact name or primary domain @throws Failure for none, or several */
export async function findOrg(api: Pick<Api, 'call'>, text: string): Promise<string> {
  const me = await readMe(api);
  const orgs = isIamOwner(me) ? await searchAll(api, text) : me.organizations;
  const byId = orgs.find((org) => org.id === text);
  if (byId) return byId.id;
  const [found, ...others] = orgs.filter((org) => isNamed(org, text));
  if (!found) throw unknown(me, text);
  if (others.length > 0) throw ambiguous(text, [found, ...others]);
  return found.id;
}

function isNamed({ name, primaryDomain }: Org, text: string): boolean {
  return name === text || primaryDomain === text.toLowerCase();
}

/** Two matches would suffice to see that a name is ambiguous; a few more are shown. */
const SHOWN = 10;

async function searchAll(api: Pick<Api, 'call'>, text: string): Promise<FoundOrg[]> {
  const queries = [{ idQuery: { id: text } }, { nameQuery: { name: text } }, { domainQuery: { domain: text } }];
  const found = await Promise.all(queries.map((query) => search(api, query)));
  return [...new Map(found.flat().map((org) => [org.id, org])).values()];
}

async function search(api: Pick<Api, 'call'>, query: OrgQuery): Promise<FoundOrg[]> {
  const body = { query: { limit: SHOWN }, queries: [query] };
  return (await api.call('searchOrgs', { body })).result;
}

function unknown(me: Me, text: string): Failure {
  const advice = isIamOwner(me)
    ? `\`muster orgs create ${JSON.stringify(text)}\` creates it; \`muster orgs list\` shows the existing ones.`
    : `${theirs(me)} An IAM_OWNER creates organizations and grants roles on them.`;
  return wrongUsage(`There is no organization with the id, name or domain ${JSON.stringify(text)}.`, advice);
}

function theirs({ organizations }: Me): string {
  if (organizations.length === 0) return 'You have no role on any organization.';
  const more = organizations.length > SHOWN ? ' and others' : '';
  return `You have a role on ${organizations.slice(0, SHOWN).map(labelOf).join(', ')}${more}.`;
}

function ambiguous(text: string, orgs: Org[]): Failure {
  return wrongUsage(
    `Several organizations match ${JSON.stringify(text)}: ${orgs.map(labelOf).join(', ')}.`,
    'Use the id of the one that you mean.',
  );
}

function labelOf({ id, name }: Org): string {
  return id === name ? id : `${id} (${name})`;
}

export type User = Answer<'getUser'>['user'];
type UserPage = Answer<'searchUsers'>;
export type FoundUsers = Omit<UserPage, 'nextPageToken'>;
/** A user as a search returns it. */
export type FoundUser = FoundUsers['result'][number];
export type UserQuery = NonNullable<Sent<'searchUsers'>['queries']>[number];

/** The largest page of the service. */
const PAGE = 1000;

/** Users that match all queries, ordered by name. @throws Failure */
export async function searchUsers(api: Api, queries: UserQuery[], limit: number, offset = 0): Promise<FoundUsers> {
  const result: FoundUser[] = [];
  let start: { offset: number } | { pageToken: string } = { offset };
  for (;;) {
    const body = { query: { ...start, limit: Math.min(limit - result.length, PAGE) }, queries };
    const page: UserPage = await api.call('searchUsers', { body });
    result.push(...page.result);
    if (!page.nextPageToken || result.length >= limit) return { details: page.details, result };
    start = { pageToken: page.nextPageToken };
  }
}

/** Users whose id, login name, user name or email address is the text, each once. @throws Failure */
export async function findUsers(api: Api, text: string): Promise<FoundUser[]> {
  const queries: UserQuery[] = [
    { inUserIdsQuery: { userIds: [text] } },
    { loginNameQuery: { loginName: text } },
    { userNameQuery: { userName: text } },
    { emailQuery: { emailAddress: text } },
  ];
  return findAny(api, queries, PAGE);
}

/** Users that match any of the queries, each once; at most `limit` of each query. @throws Failure */
async function findAny(api: Api, queries: UserQuery[], limit: number): Promise<FoundUser[]> {
  const pages = await Promise.all(queries.map((query) => searchUsers(api, [query], limit)));
  return [...new Map(pages.flatMap((page) => page.result).map((user) => [user.userId, user])).values()];
}

/**
 * The id of the user that a person means: by id, otherwise by login name. A bare user name that several organizations
 * have is refused, although it signs one of them in: a command must not act on the wrong user. An email address alone
 * does not name a user, as several may have it.
 * @throws Failure when no user matches, or several do
 */
export async function userIdOf(api: Api, text: string): Promise<string> {
  const byId = await searchUsers(api, [{ inUserIdsQuery: { userIds: [text] } }], 1);
  if (byId.result[0]) return byId.result[0].userId;
  const result = await findAny(
    api,
    [{ loginNameQuery: { loginName: text } }, { userNameQuery: { userName: text } }],
    10,
  );
  const [found, ...others] = result;
  if (!found) {
    throw wrongUsage(
      `There is no user with the id or login name ${JSON.stringify(text)}.`,
      `\`muster users find ${JSON.stringify(text)}\` searches email addresses, too.`,
    );
  }
  if (others.length === 0) return found.userId;
  const names = result.map((user) => `${user.userId} (${user.preferredLoginName})`).join(', ');
  throw wrongUsage(`Several users match ${JSON.stringify(text)}: ${names}.`, 'Use the id of the one that you mean.');
}

/** `active` for `USER_STATE_ACTIVE` */
export function stateOf({ state }: User): string {
  return state.replace('USER_STATE_', '').toLowerCase();
}

export function displayName({ human, machine }: User): string {
  return human?.profile.displayName || machine?.name || '';
}

/** Found users as a table. */
export const USER_TABLE = {
  columns: ['USER ID', 'LOGIN NAME', 'NAME', 'EMAIL', 'STATE', 'ORGANIZATION'],
  row(user: FoundUser): string[] {
    const email = user.human?.email.email ?? '';
    return [user.userId, user.preferredLoginName, displayName(user), email, stateOf(user), user.details.resourceOwner];
  },
};
