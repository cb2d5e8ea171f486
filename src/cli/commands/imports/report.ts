import type { Argv, CommandModule } from 'yargs';
import { download, OUTPUT } from '../../download.ts';
import { type ImportOptions, importOption, itemState, STATE } from '../../options.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';

interface Options extends ImportOptions {
  format: string;
  state?: string | undefined;
  output: string;
}

/** `muster report`: streams all users of an import to a file or to standard output. */
export const report: CommandModule<CommonOptions, Options> = {
  command: 'report <import>',
  describe: 'write the outcome for every user, or a body of the remaining users, to correct and import again',
  builder: (parser: Argv<CommonOptions>) =>
    importOption(parser)
      .options({
        format: {
          type: 'string',
          requiresArg: true,
          choices: ['ndjson', 'csv', 'dataorgs'],
          default: 'ndjson',
          describe: 'JSON lines, a table for a spreadsheet, or a body to import again',
        },
        state: STATE,
        output: OUTPUT,
      })
      .example('$0 report 17 --state failed --format csv -o failed.csv', 'users that failed, and why')
      .example('$0 report 17 --state failed --format dataorgs -o rest.json', 'correct it, and import it again')
      .example('$0 report 17 | jq -r .state | sort | uniq -c', 'pipe it to another program'),
  async handler(options) {
    const session = await openSession(options);
    const query = { format: options.format, state: itemState(options.state) };
    await download(session, 'report', options.output, (signal) =>
      session.api.open('GET', `/admin/v1/imports/${options.import}/report`, { query, signal }),
    );
  },
};
