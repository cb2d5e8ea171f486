import { type CommonOptions, openSession } from '../../service/session.ts';
import { userIdOf } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';
import { tokensPath } from './tokens-path.ts';

interface Options extends CommonOptions {
  user: string;
}

interface Tokens {
  result: { tokenId: string; expirationDate?: string; details: { creationDate: string } }[];
}

export const list = subcommand<Options>({
  command: 'list',
  describe: 'list the tokens of a machine user: ids and dates, not the tokens themselves',
  builder: (parser) =>
    parser
      .options({ user: { type: 'string', requiresArg: true, demandOption: true, describe: 'id or login name' } })
      .example('$0 tokens list --user importer', ''),
  async handler({ user, ...options }) {
    const { out, api } = await openSession(options);
    const found = await api.call<Tokens>('GET', tokensPath(await userIdOf(api, user)));
    out.result(found);
    if (found.result.length === 0) return out.line('None.');
    const rows = found.result.map((token) => [
      token.tokenId,
      token.details.creationDate,
      token.expirationDate ?? 'never',
    ]);
    out.table(['TOKEN ID', 'CREATED', 'EXPIRES'], rows);
  },
});
