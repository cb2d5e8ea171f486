import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { Argv, CommandModule } from 'yargs';
import { number } from '../imports/progress.ts';
import { type ImportOptions, importOption, itemState, STATE } from '../options.ts';
import { Unreachable } from '../service/api.ts';
import { type CommonOptions, openSession, type Session } from '../service/session.ts';
import { Interrupted, untilInterrupted } from '../terminal/interrupt.ts';
import { printableLines } from '../terminal/output.ts';
import { saveTo } from '../terminal/save.ts';

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
        output: { type: 'string', alias: 'o', requiresArg: true, default: '-', describe: 'file; - is standard output' },
      })
      .example('$0 report 17 --state failed --format csv -o failed.csv', 'users that failed, and why')
      .example('$0 report 17 --state failed --format dataorgs -o rest.json', 'correct it, and import it again')
      .example('$0 report 17 | jq -r .state | sort | uniq -c', 'pipe it to another program'),
  async handler(options) {
    const session = await openSession(options);
    const left = new Interrupted('The report was not finished.');
    await untilInterrupted(left, (signal) => deliver(session, options, signal));
  },
};

async function deliver(session: Session, options: Options, signal: AbortSignal): Promise<void> {
  const { api, out } = session;
  const query = { format: options.format, state: itemState(options.state) };
  const response = await api.open('GET', `/admin/v1/imports/${options.import}/report`, { query, signal });
  const text = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  try {
    if (options.output !== '-') await toFile(session, options.output, text, signal);
    else await pipeline([text, ...(out.stream.isTTY ? [shown()] : []), out.stream], { signal, end: false });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof TypeError ? new Unreachable(api.url, { message: 'the report was cut off' }) : error;
  }
}

async function toFile({ out }: Session, path: string, text: Readable, signal: AbortSignal): Promise<void> {
  const bytes = await saveTo(path, text, signal);
  out.result({ file: path, bytes });
  if (!out.json) out.note(`${path}: ${number(bytes)} bytes.`);
}

/** Makes text safe for a terminal; a file or another program gets every byte unchanged. */
function shown(): Transform {
  const decoder = new TextDecoder();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = decoder.decode(chunk, { stream: true });
      done(null, printableLines(text.replaceAll('\r\n', '\n')));
    },
  });
}
