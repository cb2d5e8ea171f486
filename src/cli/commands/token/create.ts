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
  describe: 'create a token for an existing or a new machine user',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .options({
        user: { type: 'string', requiresArg: true, describe: 'existing machine user: id or login name' },
        'new-machine': { type: 'string', requiresArg: true, describe: 'name of a machine user to create' },
        org: { type: 'string', requiresArg: true, describe: 'organization of the new user: id, name or domain' },
        role: { choices: ROLES, requiresArg: true, describe: 'role of the new user [default: ORG_OWNER]' },
        expires: {
          type: 'string',
          requiresArg: true,
          describe: 'when it expires: 90d, 12h, 2027-01-31 (default: never)',
        },
      })
      .conflicts('user', ['new-machine', 'org', 'role'])
      .implies('new-machine', 'org')
      .check(({ user, newMachine }) => Boolean(user ?? newMachine) || 'Specify --user or --new-machine.')
      .example('$0 tokens create --new-machine importer --org acme --expires 30d', 'for a script that imports')
      .example('MUSTER_TOKEN=$($0 tokens create --user importer)', 'standard output gets only the token'),
  async handler({ expires, ...options }) {
    const session = await openSession(options);
    const { out, api } = session;
    const expirationDate = expires === undefined ? undefined : expiryDate(expires);
    const userId = options.user === undefined ? await newMachine(session, options) : await userIdOf(api, options.user);
    const body = { expirationDate };
    const created = await api.call<Created>('POST', tokensPath(userId), { body });
    out.result({ userId, ...created, expirationDate });
    if (!out.json) out.note(`Token ${created.tokenId} of user ${userId}, shown only once:`);
    out.line(created.token);
  },
});

/** @returns its id */
async function newMachine({ out, api }: Session, { newMachine = '', org = '', role }: Options): Promise<string> {
  const orgId = await findOrg(api, org);
  const body = { userName: newMachine, name: newMachine };
  const { userId } = await api.call<{ userId: string }>('POST', '/management/v1/users/machine', { org: orgId, body });
  // Printed now, as the user exists even if the next step fails.
  if (!out.json) out.note(`Machine user ${newMachine} was created: ${userId}.`);
  await giveRole(api, orgId, userId, role ?? 'ORG_OWNER');
  return userId;
}

async function giveRole(api: Api, orgId: string, userId: string, role: string): Promise<void> {
  const body = { userId, roles: [role] };
  if (role === 'IAM_OWNER') await api.call('POST', '/admin/v1/members', { body });
  else await api.call('POST', '/management/v1/orgs/me/members', { org: orgId, body });
}
