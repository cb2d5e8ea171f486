/** `muster password-sources`: other systems that verify the passwords of imported users. */
import { readFile } from 'node:fs/promises';
import type { Answer, Sent } from '../../contract/client.ts';
import { command, deleteCommand, group, listCommand } from '../command.ts';
import { counted, number } from '../follow/progress.ts';
import { argument, expiryDate, flag, text, YES } from '../options.ts';
import type { Api } from '../service/api.ts';
import { findOrg } from '../service/find.ts';
import { askSecret, confirm } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, type Failure, Interrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** The name that the service gives the secret of each kind; `http` has one that the service makes. */
const SECRET = { http: undefined, ldap: 'bindPassword', 'oauth-password': 'clientSecret', cognito: 'clientSecret' };
type Kind = keyof typeof SECRET;
const KINDS = Object.keys(SECRET) as Kind[];

/** The id in examples. */
const ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';

const SOURCE = argument('id of the source, as `password-sources list` shows it');
const ORG = { type: 'string', describe: 'id, exact name or domain of the organization' } as const;
const SET = {
  ...text('a setting of the kind, NAME=VALUE; NAME=@FILE takes the text of a file'),
  array: true,
  default: [] as string[],
} as const;

const create = command({
  usage: 'create <name>',
  describe: 'add a password source',
  options: {
    name: argument('name for people'),
    kind: { choices: KINDS, demandOption: true, describe: 'how the old system is asked' },
    org: ORG,
    set: SET,
    secret: flag('ask for its secret (client secret, bind password), or take it from MUSTER_SOURCE_SECRET'),
    'user-name': { type: 'string', describe: 'name of a user there, such as {email} (default: {userName})' },
    until: { type: 'string', describe: 'when it ends: 90d, 2027-01-31 or a timestamp' },
    'timeout-ms': { type: 'number', describe: 'time limit of a check (default: 5000)' },
    'checks-per-second': { type: 'number', describe: 'limit of its load (default: 10)' },
  },
  examples: [
    [
      "$0 password-sources create 'Old directory' --org acme --kind ldap --set url=ldaps://ldap.acme.example --set userDn='uid={name},ou=people,dc=acme'",
      'a directory',
    ],
    [
      "$0 password-sources create 'Old shop' --org acme --kind http --set url=https://shop.acme.example/check",
      'an endpoint of your own',
    ],
  ],
  async run({ out, api }, { name, kind, org, set, secret, userName, until, timeoutMs, checksPerSecond, shell }) {
    const settings = { ...(await readPairs(set)), ...(await readSecret(out, shell.env, { kind, secret })) };
    const body = {
      name,
      kind,
      settings,
      userName,
      timeoutMs,
      checksPerSecond,
      until: until === undefined ? undefined : expiryDate(until),
    };
    const made = await api.call('addPasswordSource', { body: asSent(body), org: await orgId(api, org) });
    out.result(made);
    out.line(`source id  ${made.sourceId}`);
    showNewSecret(out, made);
    if (!out.json) out.note(`Try it: muster password-sources test ${made.sourceId} USER`);
  },
});

/** The service checks whether the settings are those of the kind. */
function asSent(body: object): Sent<'changePasswordSource'> {
  return body as Sent<'changePasswordSource'>;
}

const list = listCommand({
  describe: 'list the password sources of an organization',
  options: { org: ORG },
  examples: [['$0 password-sources list --org acme', '']],
  read: async (api, { org }) => api.call('listPasswordSources', { org: await orgId(api, org) }),
  columns: ['SOURCE ID', 'NAME', 'KIND', 'STATE', 'UNTIL'],
  row: ({ sourceId, name, kind, state, until }) => [sourceId, name, kind, stateWord(state), until ?? ''],
});

const show = command({
  usage: 'show <source>',
  describe: 'show the settings of a password source, without its secrets',
  options: { source: SOURCE },
  examples: [[`$0 password-sources show ${ID}`, '']],
  async run({ out, api }, given) {
    const found = await api.call('getPasswordSource', { sourceId: given.source });
    out.result(found);
    const { state, settings, until, endDate, name, kind, userName, timeoutMs, checksPerSecond } = found.passwordSource;
    const lines = {
      name,
      kind,
      state: stateWord(state),
      'user name': userName,
      ...settings,
      'time limit': `${timeoutMs} ms`,
      'checks a second': checksPerSecond,
      ...(until === null ? {} : { until }),
      ...(endDate === null ? {} : { ended: endDate }),
    };
    for (const [label, value] of Object.entries(lines)) out.line(`${label.padEnd(16)} ${value}`);
  },
});

const change = command({
  usage: 'change <source>',
  describe: 'change the settings, secret, limits or end of a source',
  options: {
    source: SOURCE,
    name: text('name for people'),
    set: SET,
    unset: { ...text('a setting to remove'), array: true, default: [] as string[] },
    secret: flag('ask for a new client secret or bind password, or take it from MUSTER_SOURCE_SECRET'),
    'new-secret': flag('kind http: replace what signs the requests'),
    'user-name': text('name of a user there, such as {email}'),
    until: text('when it ends: 90d, 2027-01-31 or a timestamp; or none'),
    'timeout-ms': { type: 'number', describe: 'time limit of a check' },
    'checks-per-second': { type: 'number', describe: 'limit of its load' },
  },
  examples: [[`$0 password-sources change ${ID} --until 30d --checks-per-second 25`, 'what is not named stays']],
  async run({ out, api }, given) {
    const sourceId = given.source;
    const { passwordSource: old } = await api.call('getPasswordSource', { sourceId });
    const { kind } = old;
    if (given.newSecret && kind !== 'http') {
      throw wrongUsage(
        `The service makes no secret for a source of the kind ${kind}.`,
        'Use --secret, and type the new one.',
      );
    }
    const kept = Object.entries(old.settings).filter(([setting]) => !given.unset.includes(setting));
    const body = {
      name: given.name ?? old.name,
      kind,
      settings: {
        ...Object.fromEntries(kept),
        ...(await readPairs(given.set)),
        ...(await readSecret(out, given.shell.env, { kind, secret: given.secret })),
      },
      userName: given.userName ?? old.userName,
      timeoutMs: given.timeoutMs ?? old.timeoutMs,
      checksPerSecond: given.checksPerSecond ?? old.checksPerSecond,
      until: newEnd(given.until, old.until),
      newSecret: given.newSecret || undefined,
    };
    const made = await api.call('changePasswordSource', { sourceId }, { body: asSent(body) });
    out.result(made);
    out.line(`Source ${given.source} is changed.`);
    showNewSecret(out, made);
  },
});

/** @param until as given: a time, `none`, or undefined to keep the old one */
function newEnd(until: string | undefined, old: string | null): string | undefined {
  if (until === undefined) return old ?? undefined;
  return until === 'none' ? undefined : expiryDate(until);
}

const status = command({
  usage: 'status <source>',
  describe: 'show how many users were migrated, on which days, and how many remain',
  options: { source: SOURCE },
  examples: [[`$0 password-sources status ${ID}`, '']],
  async run({ out, api }, { source }) {
    const migration = await api.call('getPasswordSourceStatus', { sourceId: source });
    out.result(migration);
    const { state, users, perDay } = migration;
    out.line(`${stateWord(state)}: ${number(users.migrated)} migrated, ${number(users.remaining)} remain`);
    const rows = perDay.map(({ date, migrated }) => [date, number(migrated)]);
    if (rows.length > 0) out.table(['DAY (UTC)', 'MIGRATED'], rows);
  },
});

const test = command({
  usage: 'test <source> <user>',
  describe: 'verify a password at a source, as a sign-in does; nothing changes',
  options: { source: SOURCE, user: argument('name of the user at the source') },
  examples: [[`$0 password-sources test ${ID} ann`, 'asks for the password, or takes it from MUSTER_SOURCE_PASSWORD']],
  async run({ out, api }, { source, user, shell }) {
    const asked = {
      variable: 'MUSTER_SOURCE_PASSWORD',
      what: 'password',
      prompt: 'Password',
      left: 'Nothing was verified.',
    };
    const body = { userName: user, password: await hiddenText(out, shell.env, asked) };
    const answer = await api.call('testPasswordSource', { sourceId: source }, { body });
    out.result(answer);
    out.line(`${wordsOf(answer)} (${answer.milliseconds} ms)`);
    if (answer.result === 'UNAVAILABLE') shell.exitCode = EXIT.failed;
  },
});

function wordsOf({ result, reason, passwordChangeRequired }: Answer<'testPasswordSource'>): string {
  if (result === 'UNAVAILABLE') return `No answer: ${reason}`;
  if (result === 'NO') return 'The source says no: the user or the password is wrong.';
  return `The password is right${passwordChangeRequired ? '; the user has to choose a new one' : ''}.`;
}

const end = command({
  usage: 'end <source>',
  describe: 'end a source; users who remain get an email to choose a password',
  options: { source: SOURCE, yes: YES },
  examples: [[`$0 password-sources end ${ID}`, 'asks for confirmation']],
  async run({ out, api }, { source, yes }) {
    const { users } = await api.call('getPasswordSourceStatus', { sourceId: source });
    const remaining = counted(users.remaining, 'user');
    if (!yes) await confirm(out, `End source ${source}, and send an email to ${remaining}? This cannot be undone.`);
    out.result(await api.call('endPasswordSource', { sourceId: source }));
    out.line(`Source ${source} has ended. ${remaining} will get an email to choose a password.`);
  },
});

const remove = deleteCommand({
  what: 'source',
  describe: 'delete a source that no user needs any more',
  options: { source: SOURCE, yes: YES },
  examples: [[`$0 password-sources delete ${ID}`, 'asks for confirmation']],
  target: async (api, { source }) => ({
    id: source,
    remove: () => api.call('removePasswordSource', { sourceId: source }),
  }),
});

async function orgId(api: Api, org: string | undefined): Promise<string | undefined> {
  return org === undefined ? undefined : findOrg(api, org);
}

function stateWord(state: string): string {
  return state.replace('PASSWORD_SOURCE_STATE_', '').toLowerCase();
}

/** Only a source of the kind `http` has a secret that the service makes. */
function showNewSecret(out: Output, { secret }: Answer<'changePasswordSource'>): void {
  if (!secret) return;
  out.line(`secret     ${secret}`);
  if (!out.json) out.note('The secret is shown only once. It signs the requests to the source.');
}

/** `NAME=VALUE`; a value `@FILE` is the text of a file. @throws Failure */
async function readPairs(pairs: readonly string[]): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const pair of pairs) {
    const [, name, value] = /^([A-Za-z]+)=(.+)$/s.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw badPair(pair);
    if (Object.values(SECRET).includes(name)) throw secretShown(name);
    settings[name] = value.startsWith('@') ? await textOf(value.slice(1)) : value;
  }
  return settings;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

function badPair(pair: string): Failure {
  return wrongUsage(`--set must be NAME=VALUE, but is "${pair}".`, 'For example: --set url=ldaps://ldap.acme.example');
}

function secretShown(name: string): Failure {
  return wrongUsage(
    `${name} is a secret, which a command line would show to others.`,
    'Use --secret and type it, or set MUSTER_SOURCE_SECRET.',
  );
}

/** The secret as a setting; nothing without the option. @throws Failure (usage) for a kind that has none */
async function readSecret(
  out: Output,
  env: Shell['env'],
  { kind, secret }: { kind: Kind; secret: boolean },
): Promise<Record<string, string>> {
  if (!secret) return {};
  const name = SECRET[kind];
  if (name === undefined) {
    throw wrongUsage(`A source of the kind ${kind} takes no secret: the service creates one.`);
  }
  const asked = { variable: 'MUSTER_SOURCE_SECRET', what: 'secret', prompt: name, left: 'Nothing was added.' };
  return { [name]: await hiddenText(out, env, asked) };
}

interface Hidden {
  variable: string;
  /** `secret` or `password`, for the error. */
  what: string;
  prompt: string;
  /** Said after Ctrl-C. */
  left: string;
}

/** From the environment, else typed on the terminal. @throws Failure (usage) when it is empty */
async function hiddenText(out: Output, env: Shell['env'], { variable, what, prompt, left }: Hidden): Promise<string> {
  const ask = () => askSecret(out, `${prompt} (not shown): `, new Interrupted(left));
  const text = env[variable] ?? (out.input.isTTY ? await ask() : '');
  if (text !== '') return text;
  throw wrongUsage(`The ${what} is empty.`, `Type it, or set ${variable}.`);
}

export const passwordSources = group(
  'password-sources',
  'other systems that verify imported users: add, list, show, change, status, test, end, delete',
  [create, list, show, change, status, test, end, remove],
);
