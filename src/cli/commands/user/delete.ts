import { type CommonOptions, openSession } from '../../service/session.ts';
import { userIdOf, userPath } from '../../service/users.ts';
import { subcommand, YES } from '../../subcommands.ts';
import { confirm } from '../../terminal/confirm.ts';
import { USER } from './user-option.ts';

interface Options extends CommonOptions {
  user: string;
  yes: boolean;
}

export const remove = subcommand<Options>({
  command: 'delete <user>',
  describe: 'delete a user; their id and names are free again at once',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .options({ yes: YES })
      .example('$0 users delete ann@acme.example', 'asks for confirmation'),
  async handler({ user, yes, ...options }) {
    const { out, api } = await openSession(options);
    const userId = await userIdOf(api, user);
    if (!yes) await confirm(out, `Delete user ${userId}? This cannot be undone.`);
    out.result(await api.call('DELETE', userPath(userId)));
    out.line(`User ${userId} is deleted.`);
  },
});
