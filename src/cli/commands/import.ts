import type { Argv, CommandModule } from 'yargs';
import { PEPPER_MODES } from '../../passwords/marks.ts';
import type { RunOptions, SourceOptions } from '../import/options.ts';
import { type CommonOptions, openSession } from '../service/session.ts';

/** `muster import`: reads the export of another system as it is, shows what will happen, and imports the users. */
export const importCommand: CommandModule = {
  command: 'import <files..>',
  describe: 'import the users of an export',
  // The sources are loaded only when needed: other commands should start fast.
  builder: (async (yargs: Argv) => {
    const { sourceOptions } = await import('../import/options.ts');
    return controls(sourceOptions(yargs));
  }) as unknown as (yargs: Argv) => Argv,
  async handler(given) {
    const options = given as unknown as CommonOptions & RunOptions;
    const { runImport } = await import('../import/run.ts');
    await runImport(await openSession(options), options);
  },
};

function controls(yargs: Argv<SourceOptions>): Argv<SourceOptions> {
  return yargs
    .options({
      timeout: { type: 'string', default: '1h', describe: 'time limit of the import, such as 30m or 1h30m' },
      'dry-run': {
        type: 'boolean',
        default: false,
        describe: 'report everything that would happen, and write nothing',
      },
      'on-existing': {
        choices: ['fail', 'skip', 'update'] as const,
        default: 'fail' as const,
        describe: 'existing users fail, stay as they are, or are updated',
      },
      mails: {
        choices: ['auto', 'none'] as const,
        describe:
          'auto sends the mails that are due, none holds them for `muster send-mails` (default: auto, but asks if many)',
      },
      'without-email': {
        type: 'boolean',
        default: false,
        describe: 'import users without an email address too; they log in with their user name and get no mail',
      },
      'password-source': {
        type: 'string',
        requiresArg: true,
        describe: 'id of the password source that verifies the first sign-in of users without a password',
      },
      'pepper-env': {
        type: 'string',
        requiresArg: true,
        describe: 'variable of the environment with the pepper that the old system added to passwords',
      },
      'pepper-mode': {
        choices: PEPPER_MODES,
        describe:
          'how it added the pepper (default: suffix, as Devise does); without --pepper-env, asks for the pepper',
      },
      strict: { type: 'boolean', default: false, describe: 'users with unknown fields fail' },
      webhook: { type: 'string', describe: 'URL to notify when the import ends' },
      'idempotency-key': {
        type: 'string',
        describe: 'runs with the same key and files are one import (default: a new key)',
      },
      watch: {
        type: 'boolean',
        default: false,
        alias: 'w',
        describe: 'watch until the import ends, with live progress',
      },
      yes: { type: 'boolean', default: false, alias: 'y', describe: 'do not ask for confirmation' },
      'skip-broken': { type: 'boolean', default: false, describe: 'skip records that cannot be read' },
    })
    .example('$0 import users.json passwords.ndjson --from auth0 --org acme --dry-run', 'show what would happen')
    .example('$0 import realm.json --from keycloak --org acme --timeout 30m --watch', 'import a realm, and watch')
    .example('$0 import users.json --from firebase --org acme --hash-config hash-config.txt', "with Firebase's hashes")
    .example("$0 import people.csv --from csv --org acme --map email=Mail --map userName='Login name'", 'any CSV')
    .example('zcat dump.json.gz | $0 import - --from supabase --org acme', 'from standard input');
}
