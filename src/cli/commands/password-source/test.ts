import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';
import { askSecret } from '../../terminal/ask-secret.ts';
import { EXIT, Failure } from '../../terminal/failure.ts';
import { Interrupted } from '../../terminal/interrupt.ts';
import type { Output } from '../../terminal/output.ts';
import type { Shell } from '../../terminal/shell.ts';
import { SOURCE, sourcePath } from './source-option.ts';

interface Options extends CommonOptions {
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

export const test = subcommand<Options>({
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
