import type { Argv } from 'yargs';
import { expiryDate, group, subcommand } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg, userIdOf } from '../service/find.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
/** The path of a machine user's personal access tokens, or of one of them. */
export function tokensPath(userId: string, tokenId?: string): string {
  const all = `/management/v1/users/${encodeURIComponent(userId)}/pats`;
  return tokenId === undefined ? all : `${all}/${encodeURIComponent(tokenId)}`;
}

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

interface Options2 extends CommonOptions {
  token: string;
  user: string;
}

export const remove = subcommand<Options2>({
  command: 'delete <token>',
  describe: 'delete a token; the next call with it is refused',
  builder: (parser) =>
    parser
      .positional('token', { type: 'string', demandOption: true, describe: 'token id, as `tokens list` shows it' })
      .options({ user: { type: 'string', requiresArg: true, demandOption: true, describe: 'id or login name' } })
      .example('$0 tokens delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --user importer', ''),
  async handler({ token, user, ...options }) {
    const { out, api } = await openSession(options);
    out.result(await api.call('DELETE', tokensPath(await userIdOf(api, user), token)));
    out.line(`Token ${token} is deleted.`);
  },
});

interface Options3 extends CommonOptions {
  user: string;
}

interface Tokens {
  result: { tokenId: string; expirationDate?: string; details: { creationDate: string } }[];
}

export const list = subcommand<Options3>({
  command: 'list',
  describe: 'list the tokens of a machine user: ids and dates, not the tokens themselves',
  builder: (parser) =>
    parser
      .options({ user: { type: 'string', requiresArg: true, demandOption: true, describe: 'id or login name' } })
      .example('$0 tokens list --user importer', ''),
  async handler({ user, ...options }) {
    const { out, api } = await openSession(options);
    const found = await api.call<Tokens>('GET', tokensPath(await userIdOf(api, user)));
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map((token) => [
      token.tokenId,
      token.details.creationDate,
      token.expirationDate ?? 'never',
    ]);
    out.table(['TOKEN ID', 'CREATED', 'EXPIRES'], rows);
  },
});

/** `muster tokens`: personal access tokens of machine users, for scripts and other services. */

export const tokens = group('tokens', 'create, list and delete personal access tokens', [create, list, remove]);
