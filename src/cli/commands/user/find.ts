import { type CommonOptions, openSession } from '../../service/session.ts';
import { findUsers, USER_COLUMNS, userRow } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';

interface Options extends CommonOptions {
  text: string;
}

export const find = subcommand<Options>({
  command: 'find <text>',
  describe: 'find users by their login name, user name, email address or id',
  builder: (parser) =>
    parser
      .positional('text', { type: 'string', demandOption: true, describe: 'the whole value; case does not matter' })
      .example('$0 users find ann@acme.example', 'by address or login name'),
  async handler({ text, ...options }) {
    const { out, api } = await openSession(options);
    const result = await findUsers(api, text);
    out.result({ details: { totalResult: String(result.length) }, result });
    if (result.length === 0) out.line('None.');
    else out.table(USER_COLUMNS, result.map(userRow));
  },
});
