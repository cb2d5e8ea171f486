import { type CommonOptions, openSession } from '../../service/session.ts';
import { userIdOf } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';
import { tokensPath } from './tokens-path.ts';

interface Options extends CommonOptions {
  token: string;
  user: string;
}

export const remove = subcommand<Options>({
  command: 'delete <token>',
  describe: 'delete a token; the next call with it is refused',
  builder: (parser) =>
    parser
      .positional('token', { type: 'string', demandOption: true, describe: 'token id, as `tokens list` shows it' })
      .options({ user: { type: 'string', requiresArg: true, demandOption: true, describe: 'id or login name' } })
      .example('$0 tokens delete 0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11 --user importer', ''),
  async handler({ token, user, ...options }) {
    const { out, api } = await openSession(options);
    out.result(await api.call('DELETE', tokensPath(await userIdOf(api, user), token)));
    out.line(`Token ${token} is deleted.`);
  },
});
