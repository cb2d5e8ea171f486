/** `muster tokens`: personal access tokens of machine users, for scripts and other services. */
import { command, deleteCommand, type GivenOptions, group, listCommand } from '../command.ts';
import { argument, expiryDate, text } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg, userIdOf } from '../service/find.ts';
import type { Session } from '../service/session.ts';

const USER = { ...text('id or login name'), demandOption: true } as const;

const CREATE_OPTIONS = {
  user: text('existing machine user: id or login name'),
  'new-machine': text('name of a machine user to create'),
  org: text('organization of the new user: id, name or domain'),
  role: {
    choices: ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER', 'IAM_OWNER'],
    requiresArg: true,
    describe: 'role of the new user [default: ORG_OWNER]',
  },
  expires: text('when it expires: 90d, 12h, 2027-01-31 (default: never)'),
} as const;

const create = command({
  usage: 'create',
  describe: 'create a token for an existing or a new machine user',
  options: CREATE_OPTIONS,
  check: (parser) =>
    parser
      .conflicts('user', ['new-machine', 'org', 'role'])
      .implies('new-machine', 'org')
      .check(({ user, newMachine }) => Boolean(user ?? newMachine) || 'Specify --user or --new-machine.'),
  examples: [
    ['$0 tokens create --new-machine importer --org acme --expires 30d', 'for a script that imports'],
    ['MUSTER_TOKEN=$($0 tokens create --user importer)', 'standard output gets only the token'],
  ],
  async run(session, { user, expires, ...given }) {
    const { out, api } = session;
    const expirationDate = expires === undefined ? undefined : expiryDate(expires);
    const userId = user === undefined ? await createMachine(session, given) : await userIdOf(api, user);
    const body = { expirationDate };
    const created = await api.call('addPat', { userId }, { body });
    out.result({ userId, ...created, expirationDate });
    if (!out.json) out.note(`Token ${created.tokenId} of user ${userId}, shown only once:`);
    out.line(created.token);
  },
});

type Machine = Pick<GivenOptions<typeof CREATE_OPTIONS>, 'newMachine' | 'org' | 'role'>;

/** @returns its id */
async function createMachine({ out, api }: Session, { newMachine = '', org = '', role }: Machine): Promise<string> {
  const orgId = await findOrg(api, org);
  const body = { userName: newMachine, name: newMachine };
  const { userId } = await api.call('createMachineUser', { org: orgId, body });
  // Printed now, as the user exists even if the next step fails.
  if (!out.json) out.note(`Machine user ${newMachine} was created: ${userId}.`);
  await giveRole(api, orgId, userId, role ?? 'ORG_OWNER');
  return userId;
}

async function giveRole(api: Api, org: string, userId: string, role: NonNullable<Machine['role']>): Promise<void> {
  if (role === 'IAM_OWNER') await api.call('addInstanceMember', { body: { userId, roles: [role] } });
  else await api.call('addOrgMember', { org, body: { userId, roles: [role] } });
}

const list = listCommand({
  describe: 'list the tokens of a machine user: ids and dates, not the tokens themselves',
  options: { user: USER },
  examples: [['$0 tokens list --user importer', '']],
  read: async (api, { user }) => api.call('listPats', { userId: await userIdOf(api, user) }),
  columns: ['TOKEN ID', 'CREATED', 'EXPIRES'],
  row: ({ tokenId, expirationDate, details }) => [tokenId, details.creationDate, expirationDate ?? 'never'],
});

const remove = deleteCommand({
  what: 'token',
  describe: 'delete a token; the next call with it is refused',
  options: { token: argument('token id, as `tokens list` shows it'), user: USER },
  examples: [['$0 tokens delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --user importer', '']],
  async target(api, { token, user }) {
    const userId = await userIdOf(api, user);
    return { id: token, remove: () => api.call('removePat', { userId, tokenId: token }) };
  },
});

export const tokens = group('tokens', 'create, list and delete personal access tokens', [create, list, remove]);
