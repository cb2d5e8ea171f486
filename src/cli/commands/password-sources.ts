import { number } from '../follow/progress.ts';
import { group, subcommand, YES } from '../options.ts';
import { findOrg } from '../service/find.ts';
import { type CommonOptions, openSession } from '../service/session.ts';
import { askSecret, confirm } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { EXIT, Failure, Interrupted } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { change, create, SOURCE, SOURCE_ORG, SOURCES_PATH, sourcePath } from './change-password-source.ts';

interface Options extends CommonOptions {
  org?: string | undefined;
}

interface Sources {
  result: { sourceId: string; name: string; kind: string; state: string; until: string | null }[];
}

export const list = subcommand<Options>({
  command: 'list',
  describe: 'list the password sources of an organization',
  builder: (parser) => parser.options({ org: SOURCE_ORG }).example('$0 password-sources list --org acme', ''),
  async handler({ org, ...options }) {
    const { out, api } = await openSession(options);
    const orgId = org === undefined ? undefined : await findOrg(api, org);
    const found = await api.call<Sources>('GET', SOURCES_PATH, { org: orgId });
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map(({ sourceId, name, kind, state, until }) => [
      sourceId,
      name,
      kind,
      stateWord(state),
      until ?? '',
    ]);
    out.table(['SOURCE ID', 'NAME', 'KIND', 'STATE', 'UNTIL'], rows);
  },
});

export function stateWord(state: string): string {
  return state.replace('PASSWORD_SOURCE_STATE_', '').toLowerCase();
}

interface Options2 extends CommonOptions {
  source: string;
}

interface Shown {
  passwordSource: {
    name: string;
    kind: string;
    state: string;
    settings: Record<string, unknown>;
    userName: string;
    timeoutMs: number;
    checksPerSecond: number;
    until: string | null;
    endDate: string | null;
  };
}

export const show = subcommand<Options2>({
  command: 'show <source>',
  describe: 'show the settings of a password source, without its secrets',
  builder: (parser) =>
    parser.positional('source', SOURCE).example('$0 password-sources show 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', ''),
  async handler({ source, ...options }) {
    const { out, api } = await openSession(options);
    const found = await api.call<Shown>('GET', sourcePath(source));
    out.result(found);
    const { state, settings, until, endDate, name, kind, userName, timeoutMs, checksPerSecond } = found.passwordSource;
    const lines = {
      ...{ name, kind, state: stateWord(state), 'user name': userName },
      ...settings,
      ...{ 'time limit': `${timeoutMs} ms`, 'checks a second': checksPerSecond },
      ...(until === null ? {} : { until }),
      ...(endDate === null ? {} : { ended: endDate }),
    };
    for (const [label, value] of Object.entries(lines)) out.line(`${label.padEnd(16)} ${value}`);
  },
});

interface Options3 extends CommonOptions {
  source: string;
}

interface Progress {
  state: string;
  users: { remaining: number; migrated: number };
  perDay: { date: string; migrated: number }[];
}

export const status = subcommand<Options3>({
  command: 'status <source>',
  describe: 'show how many users were migrated, on which days, and how many remain',
  builder: (parser) =>
    parser.positional('source', SOURCE).example('$0 password-sources status 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', ''),
  async handler({ source, ...options }) {
    const { out, api } = await openSession(options);
    const progress = await api.call<Progress>('GET', sourcePath(source, '/status'));
    out.result(progress);
    const { state, users, perDay } = progress;
    out.line(`${stateWord(state)}: ${number(users.migrated)} migrated, ${number(users.remaining)} remain`);
    if (perDay.length === 0) return;
    out.table(
      ['DAY (UTC)', 'MIGRATED'],
      perDay.map(({ date, migrated }) => [date, number(migrated)]),
    );
  },
});

interface Options4 extends CommonOptions {
  source: string;
  user: string;
}

interface Answer {
  result: 'YES' | 'NO' | 'UNAVAILABLE';
  reason?: string;
  passwordChangeRequired?: boolean;
  milliseconds: number;
}

const VARIABLE = 'MUSTER_SOURCE_PASSWORD';

export const test = subcommand<Options4>({
  command: 'test <source> <user>',
  describe: 'verify a password at a source, as a sign-in does; nothing changes',
  builder: (parser) =>
    parser
      .positional('source', SOURCE)
      .positional('user', { type: 'string', demandOption: true, describe: 'name of the user at the source' })
      .example(
        '$0 password-sources test 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 ann',
        'asks for the password, or takes it from MUSTER_SOURCE_PASSWORD',
      ),
  async handler({ source, user, ...options }) {
    const { out, api } = await openSession(options);
    const password = await readPassword(out, options.shell.env);
    const answer = await api.call<Answer>('POST', sourcePath(source, '/_test'), { body: { userName: user, password } });
    out.result(answer);
    out.line(`${wordsOf(answer)} (${answer.milliseconds} ms)`);
    if (answer.result === 'UNAVAILABLE') options.shell.exitCode = EXIT.failed;
  },
});

function wordsOf({ result, reason, passwordChangeRequired }: Answer): string {
  if (result === 'UNAVAILABLE') return `No answer: ${reason}`;
  if (result === 'NO') return 'The source says no: the user or the password is wrong.';
  return `The password is right${passwordChangeRequired ? '; the user has to choose a new one' : ''}.`;
}

async function readPassword(out: Output, env: Shell['env']): Promise<string> {
  const left = new Interrupted('Nothing was verified.');
  const given = env[VARIABLE] ?? (out.input.isTTY ? await askSecret(out, 'Password (not shown): ', left) : '');
  if (given !== '') return given;
  throw new Failure('The password is empty.', { exitCode: EXIT.usage, advice: `Type it, or set ${VARIABLE}.` });
}

interface Options5 extends CommonOptions {
  source: string;
  yes: boolean;
}

export const remove = subcommand<Options5>({
  command: 'delete <source>',
  describe: 'delete a source that no user needs any more',
  builder: (parser) =>
    parser
      .positional('source', SOURCE)
      .options({ yes: YES })
      .example('$0 password-sources delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ source, yes, ...options }) {
    const { out, api } = await openSession(options);
    if (!yes) await confirm(out, `Delete source ${source}? This cannot be undone.`);
    out.result(await api.call('DELETE', sourcePath(source)));
    out.line(`Source ${source} is deleted.`);
  },
});

interface Options6 extends CommonOptions {
  source: string;
  yes: boolean;
}

export const end = subcommand<Options6>({
  command: 'end <source>',
  describe: 'end a source; users who remain get an email to choose a password',
  builder: (parser) =>
    parser
      .positional('source', SOURCE)
      .options({ yes: YES })
      .example('$0 password-sources end 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11', 'asks for confirmation'),
  async handler({ source, yes, ...options }) {
    const { out, api } = await openSession(options);
    const { users } = await api.call<{ users: { remaining: number } }>('GET', sourcePath(source, '/status'));
    const remaining = `${number(users.remaining)} user${users.remaining === 1 ? '' : 's'}`;
    if (!yes) await confirm(out, `End source ${source}, and send an email to ${remaining}? This cannot be undone.`);
    out.result(await api.call('POST', sourcePath(source, '/_end'), { body: {} }));
    out.line(`Source ${source} has ended. ${remaining} will get an email to choose a password.`);
  },
});

/** `muster password-sources`: other systems that verify the passwords of imported users. */

export const passwordSources = group(
  'password-sources',
  'other systems that verify imported users: add, list, show, change, status, test, end, delete',
  [create, list, show, change, status, test, end, remove],
);
