import type { Argv } from 'yargs';
import { expiryDate } from '../../expires.ts';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { KINDS, type Kind, readPairs, readSecret } from './settings.ts';
import { SOURCE_ORG, SOURCES_PATH } from './source-option.ts';

interface Options extends CommonOptions {
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

export const create = subcommand<Options>({
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
      ) as unknown as Argv<Options>,
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
