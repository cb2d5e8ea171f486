/**
 * `muster import`: takes the export of another system as it is, says what will happen, and does it.
 */
import type { Argv, CommandModule } from 'yargs';
import type { SourceOptions } from '../import/options.ts';
import type { RunOptions } from '../import/run.ts';
import { type CommonOptions, openSession } from '../service/session.ts';

interface ImportOptions extends CommonOptions, RunOptions {}

export const importCommand: CommandModule<object, ImportOptions> = {
  command: 'import <files..>',
  describe: 'move the users of an export in',
  // The sources are loaded only where they are needed: other commands should start fast.
  builder: (async (yargs: Argv) => {
    const { sourceOptions } = await import('../import/options.ts');
    return controls(sourceOptions(yargs));
  }) as unknown as (yargs: Argv) => Argv<ImportOptions>,
  async handler(options) {
    const { runImport } = await import('../import/run.ts');
    await runImport(await openSession(options), options);
  },
};

function controls(yargs: Argv<SourceOptions>): Argv<ImportOptions> {
  return yargs
    .options({
      timeout: { type: 'string', default: '1h', describe: 'how long the import may take, such as 30m or 1h30m' },
      'dry-run': { type: 'boolean', default: false, describe: 'tell everything that would happen, and do none of it' },
      'on-existing': {
        choices: ['fail', 'skip', 'update'] as const,
        default: 'fail' as const,
        describe: 'users who are there already fail, stay as they are, or are brought in line',
      },
      mails: {
        choices: ['auto', 'none'] as const,
        describe:
          'auto sends the mails that are due, none keeps them for `muster send-mails`; asked when there are many',
      },
      strict: { type: 'boolean', default: false, describe: 'unknown fields fail their user' },
      webhook: { type: 'string', describe: 'address that is told of the end' },
      'idempotency-key': { type: 'string', describe: 'the same key and files are one import (default: a new key)' },
      watch: { type: 'boolean', default: false, alias: 'w', describe: 'stay until the end, with live progress' },
      yes: { type: 'boolean', default: false, alias: 'y', describe: 'do not ask' },
      'skip-broken': { type: 'boolean', default: false, describe: 'go on without the records that cannot be read' },
    })
    .example('$0 import users.json passwords.ndjson --from auth0 --org acme --dry-run', 'what would happen')
    .example('$0 import realm.json --from keycloak --org acme --timeout 30m --watch', 'move a realm in, and look on')
    .example('$0 import users.json --from firebase --org acme --hash-config hash-config.txt', "with Firebase's hashes")
    .example("$0 import people.csv --from csv --org acme --map email=Mail --map userName='Login name'", 'any CSV')
    .example(
      'zcat dump.json.gz | $0 import - --from supabase --org acme',
      'from standard input',
    ) as unknown as Argv<ImportOptions>;
}
