import type { Argv, CommandModule } from 'yargs';
import type { RunOptions } from '../import/options.ts';
import { openSession } from '../service/session.ts';

const EXAMPLES: [line: string, what: string][] = [
  ['$0 import users.json passwords.ndjson --from auth0 --org acme --dry-run', 'show what would happen'],
  ['$0 import realm.json --from keycloak --org acme --timeout 30m --watch', 'import a realm, and watch'],
  ['$0 import users.json --from firebase --org acme --hash-config hash-config.txt', "with Firebase's hashes"],
  ["$0 import people.csv --from csv --org acme --map email=Mail --map userName='Login name'", 'any CSV'],
  ['zcat dump.json.gz | $0 import - --from supabase --org acme', 'from standard input'],
];

/** `muster import`: reads the export of another system as it is, shows what will happen, and imports the users. */
export const importCommand: CommandModule = {
  command: 'import <files..>',
  describe: 'import the users of an export',
  // The sources are loaded only when needed: other commands should start fast.
  builder: (async (yargs: Argv) => {
    const { runOptions } = await import('../import/options.ts');
    return runOptions(yargs).example(EXAMPLES);
  }) as unknown as (yargs: Argv) => Argv,
  async handler(given) {
    const options = given as unknown as RunOptions;
    const { runImport } = await import('../import/run.ts');
    await runImport(await openSession(options), options);
  },
};
