import { readFile } from 'node:fs/promises';
import type { Argv } from 'yargs';
import { expiryDate, subcommand } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { askSecret } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, Failure, Interrupted } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
/** The settings of a new password source, from `--set NAME=VALUE` and a secret that no command line shows. */

export const KINDS = ['http', 'ldap', 'oauth-password', 'cognito'] as const;
export type Kind = (typeof KINDS)[number];

/** What the service calls the secret of a kind. */
const SECRET: Readonly<Record<Kind, string | undefined>> = {
  http: undefined,
  ldap: 'bindPassword',
  'oauth-password': 'clientSecret',
  cognito: 'clientSecret',
};
const VARIABLE = 'MUSTER_SOURCE_SECRET';

/** `NAME=VALUE`; a value `@FILE` is the text of a file. @throws Failure */
export async function readPairs(pairs: readonly string[]): Promise<Record<string, string>> {
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
    throw new Failure(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`, { exitCode: EXIT.usage });
  }
}

function badPair(pair: string): Failure {
  return new Failure(`--set must be NAME=VALUE, but is "${pair}".`, {
    exitCode: EXIT.usage,
    advice: 'For example: --set url=ldaps://ldap.acme.example',
  });
}

function secretShown(name: string): Failure {
  return new Failure(`${name} is a secret, which a command line would show to others.`, {
    exitCode: EXIT.usage,
    advice: `Use --secret and type it, or set ${VARIABLE}.`,
  });
}

/**
 * The secret as a setting, from the environment or the terminal. Without the option, and for a kind that has none,
 * nothing.
 * @throws Failure
 */
export async function readSecret(
  out: Output,
  env: Shell['env'],
  { kind, secret }: { kind: Kind; secret: boolean },
): Promise<Record<string, string>> {
  const name = SECRET[kind];
  if (!secret) return {};
  if (name === undefined) {
    throw new Failure(`A source of the kind ${kind} takes no secret: the service creates one.`, {
      exitCode: EXIT.usage,
    });
  }
  const left = new Interrupted('Nothing was added.');
  const value = env[VARIABLE] ?? (out.input.isTTY ? await askSecret(out, `${name} (not shown): `, left) : '');
  if (value !== '') return { [name]: value };
  throw new Failure('The secret is empty.', { exitCode: EXIT.usage, advice: `Type it, or set ${VARIABLE}.` });
}

/** Options of the commands about password sources. */
export const SOURCES_PATH = '/management/v1/password_sources';

export const SOURCE = {
  type: 'string',
  demandOption: true,
  describe: 'id of the source, as `password-sources list` shows it',
} as const;

export const SOURCE_ORG = { type: 'string', describe: 'id, exact name or domain of the organization' } as const;

export function sourcePath(id: string, rest = ''): string {
  return `${SOURCES_PATH}/${encodeURIComponent(id)}${rest}`;
}

interface Changes {
  name?: string | undefined;
  userName?: string | undefined;
  timeoutMs?: number | undefined;
  checksPerSecond?: number | undefined;
}

interface Options extends CommonOptions, Changes {
  source: string;
  set: string[];
  unset: string[];
  secret: boolean;
  newSecret: boolean;
  until?: string | undefined;
}

interface Shown extends Changes {
  kind: Kind;
  settings: Record<string, string>;
  until: string | null;
}

export const change = subcommand<Options>({
  command: 'change <source>',
  describe: 'change the settings, secret, limits or end of a source',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('source', SOURCE)
      .options({
        name: { type: 'string', requiresArg: true, describe: 'name for people' },
        set: {
          type: 'string',
          array: true,
          requiresArg: true,
          default: [],
          describe: 'a setting of the kind, NAME=VALUE; NAME=@FILE takes the text of a file',
        },
        unset: { type: 'string', array: true, requiresArg: true, default: [], describe: 'a setting to remove' },
        secret: {
          type: 'boolean',
          default: false,
          describe: 'ask for a new client secret or bind password, or take it from MUSTER_SOURCE_SECRET',
        },
        'new-secret': { type: 'boolean', default: false, describe: 'kind http: replace what signs the requests' },
        'user-name': { type: 'string', requiresArg: true, describe: 'name of a user there, such as {email}' },
        until: { type: 'string', requiresArg: true, describe: 'when it ends: 90d, 2027-01-31 or a timestamp; or none' },
        'timeout-ms': { type: 'number', describe: 'time limit of a check' },
        'checks-per-second': { type: 'number', describe: 'limit of its load' },
      })
      .example(
        '$0 password-sources change 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --until 30d --checks-per-second 25',
        'what is not named stays',
      ) as unknown as Argv<Options>,
  async handler({
    source,
    set,
    unset,
    secret,
    newSecret,
    until,
    name,
    userName,
    timeoutMs,
    checksPerSecond,
    ...options
  }) {
    const { out, api } = await openSession(options);
    const found = await api.call<{ passwordSource: Shown }>('GET', sourcePath(source));
    const { kind, settings, ...old } = found.passwordSource;
    if (newSecret && kind !== 'http') {
      throw new Failure(`The service makes no secret for a source of the kind ${kind}.`, {
        exitCode: EXIT.usage,
        advice: 'Use --secret, and type the new one.',
      });
    }
    const left = Object.entries(settings).filter(([setting]) => !unset.includes(setting));
    const given = { ...(await readPairs(set)), ...(await readSecret(out, options.shell.env, { kind, secret })) };
    const body = {
      ...{ name: name ?? old.name, kind, settings: { ...Object.fromEntries(left), ...given } },
      ...{ userName: userName ?? old.userName, timeoutMs: timeoutMs ?? old.timeoutMs },
      checksPerSecond: checksPerSecond ?? old.checksPerSecond,
      until: until === undefined ? (old.until ?? undefined) : until === 'none' ? undefined : expiryDate(until),
      ...(newSecret ? { newSecret } : {}),
    };
    const made = await api.call<{ secret?: string }>('PUT', sourcePath(source), { body });
    out.result(made);
    out.line(`Source ${source} is changed.`);
    if (made.secret) out.line(`secret     ${made.secret}`);
    if (made.secret && !out.json) out.note('The secret is shown only once. It signs the requests to the source.');
  },
});

interface Options2 extends CommonOptions {
  name: string;
  kind: Kind;
  org?: string | undefined;
  set: string[];
  secret: boolean;
  userName?: string | undefined;
  until?: string | undefined;
  timeoutMs?: number | undefined;
  checksPerSecond?: number | undefined;
}

export const create = subcommand<Options2>({
  command: 'create <name>',
  describe: 'add a password source',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('name', { type: 'string', demandOption: true, describe: 'name for people' })
      .options({
        kind: { choices: KINDS, demandOption: true, describe: 'how the old system is asked' },
        org: SOURCE_ORG,
        set: {
          type: 'string',
          array: true,
          requiresArg: true,
          default: [],
          describe: 'a setting of the kind, NAME=VALUE; NAME=@FILE takes the text of a file',
        },
        secret: {
          type: 'boolean',
          default: false,
          describe: 'ask for its secret (client secret, bind password), or take it from MUSTER_SOURCE_SECRET',
        },
        'user-name': { type: 'string', describe: 'name of a user there, such as {email} (default: {userName})' },
        until: { type: 'string', describe: 'when it ends: 90d, 2027-01-31 or a timestamp' },
        'timeout-ms': { type: 'number', describe: 'time limit of a check (default: 5000)' },
        'checks-per-second': { type: 'number', describe: 'limit of its load (default: 10)' },
      })
      .example(
        "$0 password-sources create 'Old directory' --org acme --kind ldap --set url=ldaps://ldap.acme.example --set userDn='uid={name},ou=people,dc=acme'",
        'a directory',
      )
      .example(
        "$0 password-sources create 'Old shop' --org acme --kind http --set url=https://shop.acme.example/check",
        'an endpoint of your own',
      ) as unknown as Argv<Options2>,
  async handler({ name, kind, org, set, secret, userName, until, timeoutMs, checksPerSecond, ...options }) {
    const { out, api } = await openSession(options);
    const settings = { ...(await readPairs(set)), ...(await readSecret(out, options.shell.env, { kind, secret })) };
    const body = {
      ...{ name, kind, settings, userName, timeoutMs, checksPerSecond },
      until: until === undefined ? undefined : expiryDate(until),
    };
    const orgId = org === undefined ? undefined : await findOrg(api, org);
    const made = await api.call<{ sourceId: string; secret?: string }>('POST', SOURCES_PATH, { body, org: orgId });
    out.result(made);
    out.line(`source id  ${made.sourceId}`);
    if (made.secret) out.line(`secret     ${made.secret}`);
    if (made.secret && !out.json) out.note('The secret is shown only once. It signs the requests to the source.');
    if (!out.json) out.note(`Try it: muster password-sources test ${made.sourceId} USER`);
  },
});
