/** `muster members`: who has which roles on an organization, or on the instance. */
import type { Argv, CommandModule } from 'yargs';
import type { Answer, Sent } from '../../contract/client.ts';
import { INSTANCE_ROLES, ORG_ROLES, type OrgRole } from '../../contract/roles.ts';
import { command, group, showEntries } from '../command.ts';
import { argument, flag, text, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg, searchUsers, userIdOf } from '../service/find.ts';
import { readMe } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';
import { Failure, wrongUsage } from '../terminal/failure.ts';

/** The largest page of the service. */
const PAGE = 1000;

const SCOPE = {
  org: text('of this organization: id, name or domain'),
  instance: flag('of the instance (IAM_OWNER)'),
} as const;
const USER = argument('id or login name');

const ROLE = { ...text('role; repeat it for several'), choices: ORG_ROLES, array: true } as const;

type MemberPage = Answer<'searchOrgMembers'>;
type Member = MemberPage['result'][number];

/** Where the members are: an organization or the instance, with the operations on them. */
interface Scope {
  /** `acme` or `the instance`, as the end of a sentence. */
  name: string;
  search(body: Sent<'searchOrgMembers'>): Promise<MemberPage>;
  /** @param roles on an organization; a member of the instance is IAM_OWNER */
  add(userId: string, roles: OrgRole[]): Promise<unknown>;
  remove(userId: string): Promise<unknown>;
}

interface Given {
  org?: string | undefined;
  instance: boolean;
}

function isOneScope({ org, instance }: Given): true | string {
  return (org !== undefined) !== instance || 'Give either --org or --instance.';
}

const oneScope = <T extends Given>(parser: Argv<T>) => parser.check((given) => isOneScope(given));

async function scopeOf(api: Api, { org, instance }: Given): Promise<Scope> {
  return instance ? ofInstance(api) : ofOrg(api, await findOrg(api, org as string));
}

function ofInstance(api: Api): Scope {
  return {
    name: 'the instance',
    search: (body) => api.call('searchInstanceMembers', { body }),
    add: (userId) => api.call('addInstanceMember', { body: { userId, roles: [...INSTANCE_ROLES] } }),
    remove: (userId) => api.call('removeInstanceMember', { userId }),
  };
}

function ofOrg(api: Api, org: string): Scope {
  return {
    name: org,
    search: (body) => api.call('searchOrgMembers', { org, body }),
    add: (userId, roles) => api.call('addOrgMember', { org, body: { userId, roles } }),
    remove: (userId) => api.call('removeOrgMember', { userId }, { org }),
  };
}

const list = command({
  usage: 'list',
  describe: 'list the members and their roles',
  options: SCOPE,
  check: oneScope,
  examples: [
    ['$0 members list --org acme', ''],
    ['$0 members list --instance', 'who may do everything'],
  ],
  async run({ out, api }, given) {
    const result = await membersOf(await scopeOf(api, given));
    out.result({ details: { totalResult: String(result.length) }, result });
    const names = out.json ? new Map<string, string>() : await loginNamesOf(api, result);
    showEntries(out, result, {
      columns: ['USER ID', 'LOGIN NAME', 'ROLES', 'SINCE'],
      row: ({ userId, roles, details }) => [
        userId,
        names.get(userId) ?? '',
        roles.join(', '),
        details.creationDate ?? '',
      ],
    });
  },
});

/** All members, in the order of their ids. */
async function membersOf(scope: Scope): Promise<Member[]> {
  const all: Member[] = [];
  for (;;) {
    const { result } = await scope.search({ query: { offset: all.length, limit: PAGE } });
    all.push(...result);
    if (result.length < PAGE) return all;
  }
}

/** Users of organizations on which the caller has no role stay without a name. */
async function loginNamesOf(api: Api, members: readonly Member[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (let at = 0; at < members.length; at += PAGE) {
    const userIds = members.slice(at, at + PAGE).map(({ userId }) => userId);
    const { result } = await searchUsers(api, [{ inUserIdsQuery: { userIds } }], PAGE);
    for (const { userId, preferredLoginName } of result) names.set(userId, preferredLoginName);
  }
  return names;
}

const add = command({
  usage: 'add <user>',
  describe: 'give a user roles',
  options: { user: USER, ...SCOPE, role: ROLE },
  check: (parser) => oneScope(parser).check(({ instance, role }) => isRoleOf(instance, role)),
  examples: [
    ['$0 members add ann@acme.example --org acme --role ORG_OWNER', ''],
    ['$0 members add ann@acme.example --instance', 'makes her IAM_OWNER'],
  ],
  async run({ out, api }, { user, role, ...given }) {
    const scope = await scopeOf(api, given);
    const userId = await userIdOf(api, user);
    out.result(await scope.add(userId, role ?? []));
    out.line(`User ${userId} is now ${(role ?? INSTANCE_ROLES).join(', ')} of ${scope.name}.`);
  },
});

function isRoleOf(instance: boolean, role: readonly string[] | undefined): true | string {
  if (instance) return role === undefined || `Members of the instance are ${INSTANCE_ROLES}: leave out --role.`;
  return role !== undefined || 'Give --role.';
}

const update = command({
  usage: 'update <user>',
  describe: 'replace the roles of a member of an organization',
  options: { user: USER, org: { ...SCOPE.org, demandOption: true }, role: { ...ROLE, demandOption: true } },
  examples: [['$0 members update ann@acme.example --org acme --role ORG_OWNER --role ORG_USER_MANAGER', '']],
  async run({ out, api }, { user, org, role }) {
    const scope = await scopeOf(api, { org, instance: false });
    const { userId, roles } = await memberOf(api, scope, user);
    const wanted = [...new Set(role)];
    const isSame = wanted.length === roles.length && wanted.every((each) => roles.includes(each));
    if (!isSame) await replace(api, scope, { userId, roles }, wanted);
    out.result({ userId, roles: wanted });
    out.line(`User ${userId} is ${isSame ? 'already' : 'now'} ${wanted.join(', ')} of ${scope.name}.`);
  },
});

/** The service has no operation that replaces roles. If the new ones are refused, the member gets the old ones back. */
async function replace(api: Api, scope: Scope, member: Pick<Member, 'userId' | 'roles'>, roles: OrgRole[]) {
  const { userId } = member;
  if ((await readMe(api)).user.userId === userId) {
    throw wrongUsage('You cannot replace your own roles: between two calls you would have none.', 'Ask another owner.');
  }
  await scope.remove(userId);
  try {
    await scope.add(userId, roles);
  } catch (error) {
    const back = await scope.add(userId, member.roles as OrgRole[]).then(
      () => true,
      () => false,
    );
    if (back || !(error instanceof Failure)) throw error;
    const advice = `User ${userId} has no role on ${scope.name} now. Run \`muster members add\`.`;
    throw new Failure(error.message, { exitCode: error.exitCode, advice });
  }
}

/** The member whom a person names: by id, also of organizations that the caller does not see, or by login name. */
async function memberOf(api: Api, scope: Scope, user: string): Promise<Member> {
  const members = await membersOf(scope);
  const userId = members.some((member) => member.userId === user) ? user : await userIdOf(api, user);
  const member = members.find((each) => each.userId === userId);
  if (!member) throw wrongUsage(`User ${userId} is no member of ${scope.name}.`, '`muster members list` shows them.');
  return member;
}

const remove = command({
  usage: 'remove <user>',
  describe: 'take all roles from a member',
  options: { user: USER, ...SCOPE, yes: YES },
  check: oneScope,
  examples: [['$0 members remove ann@acme.example --org acme', 'asks for confirmation']],
  async run({ out, api }, { user, yes, ...given }) {
    const scope = await scopeOf(api, given);
    const { userId, roles } = await memberOf(api, scope, user);
    if (!yes) await confirm(out, `Take ${roles.join(', ')} of ${scope.name} from user ${userId}?`);
    out.result(await scope.remove(userId));
    out.line(`User ${userId} is no longer ${roles.join(', ')} of ${scope.name}.`);
  },
});

export const members: CommandModule = group('members', 'manage the roles of users', [list, add, update, remove]);
