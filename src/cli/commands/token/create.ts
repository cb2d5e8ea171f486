import type { Argv } from 'yargs';
import { expiryDate } from '../../expires.ts';
import type { Api } from '../../service/api.ts';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession, type Session } from '../../service/session.ts';
import { userIdOf } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';
import { tokensPath } from './tokens-path.ts';

interface Options extends CommonOptions {
  user?: string | undefined;
  newMachine?: string | undefined;
  org?: string | undefined;
  role?: string | undefined;
  expires?: string | undefined;
}

interface Created {
  tokenId: string;
  token: string;
}

const ROLES = ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER', 'IAM_OWNER'];

export const create = subcommand<Options>({
  command: 'create',
  describe: 'make a token, for a machine user that is there or for a new one',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .options({
        user: { type: 'string', requiresArg: true, describe: 'machine user: id or login name' },
        'new-machine': { type: 'string', requiresArg: true, describe: 'name of a machine user to make' },
        org: { type: 'string', requiresArg: true, describe: 'organization of the new one: id, name or domain' },
        role: { choices: ROLES, requiresArg: true, describe: 'role of the new one there [default: ORG_OWNER]' },
        expires: { type: 'string', requiresArg: true, describe: 'when it ends: 90d, 12h, 2027-01-31; else never' },
      })
      .conflicts('user', ['new-machine', 'org', 'role'])
      .implies('new-machine', 'org')
      .check(({ user, newMachine }) => Boolean(user ?? newMachine) || 'Whose? Say --user or --new-machine.')
      .example('$0 tokens create --new-machine importer --org acme --expires 30d', 'for a script that imports')
      .example('MUSTER_TOKEN=$($0 tokens create --user importer)', 'the token alone is printed'),
  async handler({ expires, ...options }) {
    const session = await openSession(options);
    const { out, api } = session;
    const expirationDate = expires === undefined ? undefined : expiryDate(expires);
    const userId = options.user === undefined ? await newMachine(session, options) : await userIdOf(api, options.user);
    const body = { expirationDate };
    const created = await api.call<Created>('POST', tokensPath(userId), { body });
    out.result({ userId, ...created, expirationDate });
    if (!out.json) out.note(`Token ${created.tokenId} of user ${userId}, shown this once:`);
    out.line(created.token);
  },
});

/** @returns its id */
async function newMachine({ out, api }: Session, { newMachine = '', org = '', role }: Options): Promise<string> {
  const orgId = await findOrg(api, org);
  const body = { userName: newMachine, name: newMachine };
  const { userId } = await api.call<{ userId: string }>('POST', '/management/v1/users/machine', { org: orgId, body });
  // Said at once: should the next step fail, it is there all the same.
  if (!out.json) out.note(`Machine user ${newMachine} is there: ${userId}.`);
  await giveRole(api, orgId, userId, role ?? 'ORG_OWNER');
  return userId;
}

async function giveRole(api: Api, orgId: string, userId: string, role: string): Promise<void> {
  const body = { userId, roles: [role] };
  if (role === 'IAM_OWNER') await api.call('POST', '/admin/v1/members', { body });
  else await api.call('POST', '/management/v1/orgs/me/members', { org: orgId, body });
}
