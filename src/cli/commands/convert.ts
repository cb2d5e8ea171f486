import type { Argv, CommandModule } from 'yargs';
import type { WriteOptions } from '../import/write.ts';
import { openOutput } from '../terminal/output.ts';

/** `muster convert`: turns an export of another system into an import body, to inspect or to send by other means. */
export const convertCommand: CommandModule = {
  command: 'convert <files..>',
  describe: 'convert an export to an import body (NDJSON), without sending it',
  // The sources are loaded only when needed: other commands should start fast.
  builder: (async (yargs: Argv) => {
    const { sourceOptions } = await import('../import/options.ts');
    return sourceOptions(yargs)
      .option('output', { alias: 'o', type: 'string', describe: 'file to write to (default: standard output)' })
      .example('$0 convert users.json --from auth0 --org acme | head -3', 'show the first three users')
      .example('$0 convert users.json passwords.ndjson --from auth0 --org acme -o users.ndjson', 'write a file');
  }) as unknown as (yargs: Argv) => Argv,
  async handler(given) {
    const options = given as unknown as WriteOptions;
    const { writeConverted } = await import('../import/write.ts');
    await writeConverted(openOutput(options.json === true, options.shell), options);
  },
};
