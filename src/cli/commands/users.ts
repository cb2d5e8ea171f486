/** `muster users`: shows users and changes them. */
import type { CommandModule } from 'yargs';
import type { Answer } from '../../contract/client.ts';
import { command, deleteCommand, group, showEntries } from '../command.ts';
import { argument, isLimit, limit, text, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import { displayName, findOrg, findUsers, searchUsers, stateOf, USER_TABLE, userIdOf } from '../service/find.ts';
import { confirm } from '../terminal/ask.ts';
import type { Output } from '../terminal/output.ts';

const USER = argument('id or login name');

const list = command({
  usage: 'list',
  describe: 'list users, ordered by name',
  options: {
    org: text('only users of this organization: id, name or domain'),
    state: {
      choices: ['active', 'inactive', 'locked', 'initial'],
      requiresArg: true,
      describe: 'only users in this state',
    },
    limit: limit(50),
    offset: { type: 'number', requiresArg: true, default: 0, describe: 'how many to skip first' },
  },
  check: (parser) => parser.check(isLimit).check(({ offset }) => isOffset(offset) || OFFSET),
  examples: [
    ['$0 users list --org acme --state locked', 'users that are locked'],
    ['$0 users list --limit 1 --json | jq -r .details.totalResult', 'how many there are'],
  ],
  async run({ out, api }, { org, state, limit, offset }) {
    const queries = [
      ...(org ? [{ organizationIdQuery: { organizationId: await findOrg(api, org) } }] : []),
      ...(state ? [{ stateQuery: { state: `USER_STATE_${state.toUpperCase()}` } }] : []),
    ];
    const { details, result } = await searchUsers(api, queries, limit, offset);
    out.result({ details, result });
    showEntries(out, result, USER_TABLE);
    const next = offset + result.length;
    const left = Number(details.totalResult) - next;
    if (result.length === 0 || left <= 0 || out.json) return;
    out.note(`${details.totalIsEstimate ? 'About ' : ''}${left} more: raise --limit, or use --offset ${next}.`);
  },
});

const OFFSET = '--offset must be a whole number of at least 0.';

function isOffset(offset: number): boolean {
  return Number.isInteger(offset) && offset >= 0;
}

const find = command({
  usage: 'find <text>',
  describe: 'find users by their login name, user name, email address or id',
  options: { text: argument('the whole value; case does not matter') },
  examples: [['$0 users find ann@acme.example', 'by address or login name']],
  async run({ out, api }, { text }) {
    const result = await findUsers(api, text);
    out.result({ details: { totalResult: String(result.length) }, result });
    showEntries(out, result, USER_TABLE);
  },
});

interface Whole extends Answer<'getUser'> {
  metadata: Answer<'getUserMetadata'>['result'];
  links: Answer<'getUserLinks'>['result'];
}

const get = command({
  usage: 'get <user>',
  describe: 'show a user with their metadata and links to identity providers',
  options: { user: USER },
  examples: [
    ["$0 users get 'auth0|60425dc4'", 'by id'],
    ['$0 users get ann@acme.example --json', 'by login name'],
  ],
  async run({ out, api }, { user }) {
    const found = await read(api, await userIdOf(api, user));
    out.result(found);
    show(out, found);
  },
});

async function read(api: Api, userId: string): Promise<Whole> {
  const [answer, metadata, links] = await Promise.all([
    api.call('getUser', { userId }),
    api.call('getUserMetadata', { userId }),
    api.call('getUserLinks', { userId }),
  ]);
  return { ...answer, metadata: metadata.result, links: links.result };
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
    ['mail codes', human?.withoutMailCodes && 'left out: no code by mail, nothing from “Forgot password?”'],
    ...metadata.map(({ key, value }): [string, string] => [`metadata ${key}`, decoded(value)]),
    ...links.map((link): [string, string] => [`link ${link.idpId}`, linkText(link)]),
    ['changed', details.changeDate],
  ];
  const [first, ...rest] = rows.filter((row): row is [string, string] => Boolean(row[1]));
  out.table(first ?? [], rest);
}

function linkText({ userId, userName, provider, isHeldTwice }: Whole['links'][number]): string {
  const use = isHeldTwice
    ? 'another user has it too, so neither signs in with it'
    : provider
      ? `signs in with ${provider.name}`
      : 'its provider is not set up';
  return `${userId} ${userName}`.trim().concat(` (${use})`);
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

const stateChanges = [
  stateChange(
    'deactivate',
    'deactivateUser',
    'stop a user from logging in until reactivated',
    'is now inactive, and logged out everywhere',
  ),
  stateChange('reactivate', 'reactivateUser', 'let a deactivated user log in again', 'is active again'),
  stateChange(
    'lock',
    'lockUser',
    'stop a user from logging in until unlocked',
    'is now locked, and logged out everywhere',
  ),
  stateChange(
    'unlock',
    'unlockUser',
    'let a locked user log in again, also after too many failed logins',
    'is unlocked',
  ),
];
type StateChange = 'deactivateUser' | 'reactivateUser' | 'lockUser' | 'unlockUser';

function stateChange(name: string, operation: StateChange, describe: string, done: string): CommandModule {
  return command({
    usage: `${name} <user>`,
    describe,
    options: { user: USER },
    examples: [[`$0 users ${name} ann@acme.example`, '']],
    async run({ out, api }, { user }) {
      const userId = await userIdOf(api, user);
      out.result(await api.call(operation, { userId }));
      out.line(`User ${userId} ${done}.`);
    },
  });
}

const mailCodes = command({
  usage: 'mail-codes <user>',
  describe: 'allow a user codes by mail whom an import left out of them, or leave a user out',
  options: {
    user: USER,
    allow: { type: 'boolean', default: true, describe: 'the login policy decides; --no-allow leaves the user out' },
  },
  examples: [
    ['$0 users mail-codes ann@acme.example', 'the login policy decides again'],
    ['$0 users mail-codes ann@acme.example --no-allow', 'no code and no mail gives them a way in'],
  ],
  async run({ out, api }, { user, allow }) {
    const userId = await userIdOf(api, user);
    out.result(await api.call('setMailCodes', { userId }, { body: { allowed: allow } }));
    const now = allow ? 'may use codes by mail, as the login policy says' : 'is left out of codes by mail';
    out.line(`User ${userId} ${now}.`);
  },
});

const resetPassword = command({
  usage: 'reset-password <user>',
  describe: 'send a user a mail with a link to set a new password',
  options: { user: USER, code: { type: 'boolean', describe: 'print the code instead of sending a mail' } },
  examples: [['$0 users reset-password ann@acme.example', '']],
  async run({ out, api }, { user, code }) {
    const userId = await userIdOf(api, user);
    const body = code ? { returnCode: {} } : { sendLink: {} };
    const answer = await api.call('resetPassword', { userId }, { body });
    out.result(answer);
    if (!answer.verificationCode) return out.line(`A mail with a link is on its way to user ${userId}.`);
    out.note(`Anyone with this code can set a new password for user ${userId}, once:`);
    out.line(answer.verificationCode);
  },
});

const resetFactors = command({
  usage: 'reset-factors <user>',
  describe: 'remove all second factors, passkeys and recovery codes of a user who has lost them',
  options: { user: USER, yes: YES, endSessions: { type: 'boolean', describe: 'sign the user out everywhere, too' } },
  examples: [['$0 users reset-factors ann@acme.example', 'asks for confirmation; the user gets a mail']],
  async run({ out, api }, { user, yes, endSessions = false }) {
    const userId = await userIdOf(api, user);
    if (!yes) await confirm(out, `Remove all factors of user ${userId}? The password alone is then enough to sign in.`);
    out.result(await api.call('resetFactors', { userId }, { body: { endSessions } }));
    out.line(`User ${userId} has no factors besides the password any more.`);
  },
});

const remove = deleteCommand({
  what: 'user',
  describe: 'delete a user; their id and names are free again at once',
  options: { user: USER, yes: YES },
  examples: [['$0 users delete ann@acme.example', 'asks for confirmation']],
  async target(api, { user }) {
    const userId = await userIdOf(api, user);
    return { id: userId, remove: () => api.call('deleteUser', { userId }) };
  },
});

const erase = command({
  usage: 'erase <user>',
  describe: 'delete a user, and remove everything that names them, also from imports and events (ORG_OWNER)',
  options: { user: argument('id or login name; of a deleted user the id'), yes: YES },
  examples: [['$0 users erase ann@acme.example', 'asks for confirmation']],
  async run({ out, api }, { user, yes }) {
    const [found] = (await searchUsers(api, [{ inUserIdsQuery: { userIds: [user] } }], 1)).result;
    // A login name leads to nobody once the user is deleted, but their id does, and the service knows it.
    const userId = found ? user : await userIdOf(api, user).catch(() => user);
    if (!yes) await confirm(out, `Erase user ${userId}, with all that names them? This cannot be undone.`);
    const erased = await api.call('eraseUser', { userId });
    out.result(erased);
    out.line(`User ${userId} is deleted. Workers now replace the id by ${erased.erasedId}.`);
  },
});

export const users = group('users', 'list, find and manage users', [
  list,
  find,
  get,
  ...stateChanges,
  mailCodes,
  resetPassword,
  resetFactors,
  remove,
  erase,
]);
