import type { Argv } from 'yargs';
import { group, type Subcommand, subcommand, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import {
  displayName,
  findOrg,
  findUsers,
  searchUsers,
  stateOf,
  USER_COLUMNS,
  type User,
  userIdOf,
  userPath,
  userRow,
} from '../service/find.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { confirm } from '../terminal/ask.ts';
import type { Output } from '../terminal/output.ts';
/** The user that a command acts on. */
export const USER = { type: 'string', demandOption: true, describe: 'id or login name' } as const;

/** Deactivate, reactivate, lock, unlock: the same command, in different words. */

interface Options extends CommonOptions {
  user: string;
}

const CHANGES: readonly [name: string, describe: string, done: string][] = [
  ['deactivate', 'stop a user from logging in until reactivated', 'is now inactive, and logged out everywhere'],
  ['reactivate', 'let a deactivated user log in again', 'is active again'],
  ['lock', 'stop a user from logging in until unlocked', 'is now locked, and logged out everywhere'],
  ['unlock', 'let a locked user log in again, also after too many failed logins', 'is unlocked'],
];

export const stateChanges: readonly Subcommand[] = CHANGES.map(([name, describe, done]) =>
  subcommand<Options>({
    command: `${name} <user>`,
    describe,
    builder: (parser) => parser.positional('user', USER).example(`$0 users ${name} ann@acme.example`, ''),
    async handler({ user, ...options }) {
      const { out, api } = await openSession(options);
      const userId = await userIdOf(api, user);
      out.result(await api.call('POST', userPath(userId, `/${name}`), { body: {} }));
      out.line(`User ${userId} ${done}.`);
    },
  }),
);

interface Options2 extends CommonOptions {
  user: string;
  yes: boolean;
}

export const remove = subcommand<Options2>({
  command: 'delete <user>',
  describe: 'delete a user; their id and names are free again at once',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .options({ yes: YES })
      .example('$0 users delete ann@acme.example', 'asks for confirmation'),
  async handler({ user, yes, ...options }) {
    const { out, api } = await openSession(options);
    const userId = await userIdOf(api, user);
    if (!yes) await confirm(out, `Delete user ${userId}? This cannot be undone.`);
    out.result(await api.call('DELETE', userPath(userId)));
    out.line(`User ${userId} is deleted.`);
  },
});

interface Options3 extends CommonOptions {
  text: string;
}

export const find = subcommand<Options3>({
  command: 'find <text>',
  describe: 'find users by their login name, user name, email address or id',
  builder: (parser) =>
    parser
      .positional('text', { type: 'string', demandOption: true, describe: 'the whole value; case does not matter' })
      .example('$0 users find ann@acme.example', 'by address or login name'),
  async handler({ text, ...options }) {
    const { out, api } = await openSession(options);
    const result = await findUsers(api, text);
    out.result({ details: { totalResult: String(result.length) }, result });
    if (result.length === 0) out.line('None.');
    else out.table(USER_COLUMNS, result.map(userRow));
  },
});

interface Options4 extends CommonOptions {
  user: string;
}

interface Whole {
  details: { resourceOwner: string; changeDate: string };
  user: User;
  metadata: { key: string; value: string }[];
  links: { idpId: string; userId: string; userName: string }[];
}

export const get = subcommand<Options4>({
  command: 'get <user>',
  describe: 'show a user with their metadata and links to identity providers',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .example("$0 users get 'auth0|60425dc4'", 'by id')
      .example('$0 users get ann@acme.example --json', 'by login name'),
  async handler({ user, ...options }) {
    const { out, api } = await openSession(options);
    const found = await read(api, await userIdOf(api, user));
    out.result(found);
    show(out, found);
  },
});

async function read(api: Api, userId: string): Promise<Whole> {
  const list = async <T>(what: string) => (await api.call<{ result: T[] }>('GET', userPath(userId, what))).result;
  const [answer, metadata, links] = await Promise.all([
    api.call<Pick<Whole, 'details' | 'user'>>('GET', userPath(userId)),
    list<Whole['metadata'][number]>('/metadata'),
    list<Whole['links'][number]>('/links'),
  ]);
  return { ...answer, metadata, links };
}

function show(out: Output, { details, user, metadata, links }: Whole): void {
  const { human } = user;
  const rows: [string, string | undefined][] = [
    ['id', user.userId],
    ['organization', details.resourceOwner],
    ['state', stateOf(user)],
    ['kind', human ? 'human' : 'machine'],
    ['name', displayName(user)],
    ['login names', user.loginNames.join(', ')],
    ['email', human && proven(human.email.email, human.email.isVerified)],
    ['phone', human?.phone && proven(human.phone.phone, human.phone.isVerified)],
    ['password', human?.passwordChangeRequired ? 'must be changed at the next login' : undefined],
    ...metadata.map(({ key, value }): [string, string] => [`metadata ${key}`, decoded(value)]),
    ...links.map((link): [string, string] => [`link ${link.idpId}`, `${link.userId} ${link.userName}`.trim()]),
    ['changed', details.changeDate],
  ];
  const [first, ...rest] = rows.filter((row): row is [string, string] => Boolean(row[1]));
  out.table(first ?? [], rest);
}

function proven(address: string, isVerified: boolean): string {
  return `${address} (${isVerified ? 'verified' : 'not verified'})`;
}

/** Most values are text; others are shown as base64. */
function decoded(base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return `base64 ${base64}`;
  }
}

interface Options5 extends CommonOptions {
  org?: string | undefined;
  state?: string | undefined;
  limit: number;
  offset: number;
}

const isCount = (n: number, least: number) => Number.isInteger(n) && n >= least;

export const list = subcommand<Options5>({
  command: 'list',
  describe: 'list users, ordered by name',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .options({
        org: { type: 'string', requiresArg: true, describe: 'only users of this organization: id, name or domain' },
        state: {
          choices: ['active', 'inactive', 'locked', 'initial'],
          requiresArg: true,
          describe: 'only users in this state',
        },
        limit: { type: 'number', requiresArg: true, default: 50, describe: 'how many to list' },
        offset: { type: 'number', requiresArg: true, default: 0, describe: 'how many to skip first' },
      })
      .check(({ limit }) => isCount(limit, 1) || '--limit must be a whole number of at least 1.')
      .check(({ offset }) => isCount(offset, 0) || '--offset must be a whole number of at least 0.')
      .example('$0 users list --org acme --state locked', 'users that are locked')
      .example('$0 users list --limit 1 --json | jq -r .details.totalResult', 'how many there are'),
  async handler({ org, state, limit, offset, ...options }) {
    const { out, api } = await openSession(options);
    const queries = [
      ...(org ? [{ organizationIdQuery: { organizationId: await findOrg(api, org) } }] : []),
      ...(state ? [{ stateQuery: { state: `USER_STATE_${state.toUpperCase()}` } }] : []),
    ];
    const found = await searchUsers(api, queries, limit, offset);
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    out.table(USER_COLUMNS, found.result.map(userRow));
    const { totalResult, totalIsEstimate } = found.details;
    const left = Number(totalResult) - offset - found.result.length;
    if (left > 0 && !out.json)
      out.note(
        `${totalIsEstimate ? 'About ' : ''}${left} more: raise --limit, or use --offset ${offset + found.result.length}.`,
      );
  },
});

interface Options6 extends CommonOptions {
  user: string;
  code?: boolean | undefined;
}

export const resetPassword = subcommand<Options6>({
  command: 'reset-password <user>',
  describe: 'send a user a mail with a link to set a new password',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .options({ code: { type: 'boolean', describe: 'print the code instead of sending a mail' } })
      .example('$0 users reset-password ann@acme.example', ''),
  async handler({ user, code, ...options }) {
    const { out, api } = await openSession(options);
    const userId = await userIdOf(api, user);
    const body = code ? { returnCode: {} } : { sendLink: {} };
    const answer = await api.call<{ verificationCode?: string }>('POST', userPath(userId, '/password_reset'), { body });
    out.result(answer);
    if (!answer.verificationCode) return out.line(`A mail with a link is on its way to user ${userId}.`);
    out.note(`Anyone with this code can set a new password for user ${userId}, once:`);
    out.line(answer.verificationCode);
  },
});

/** `muster users`: shows users and changes them. */

export const users = group('users', 'list, find and manage users', [
  list,
  find,
  get,
  ...stateChanges,
  resetPassword,
  remove,
]);
