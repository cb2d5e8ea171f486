import type { Argv } from 'yargs';
import { expiryDate } from '../../expires.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { EXIT, Failure } from '../../terminal/failure.ts';
import { type Kind, readPairs, readSecret } from './settings.ts';
import { SOURCE, sourcePath } from './source-option.ts';

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
