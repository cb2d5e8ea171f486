import { type CommonOptions, openSession } from '../../service/session.ts';
import { userIdOf, userPath } from '../../service/users.ts';
import { subcommand } from '../../subcommands.ts';
import { USER } from './user-option.ts';

interface Options extends CommonOptions {
  user: string;
  code?: boolean | undefined;
}

export const resetPassword = subcommand<Options>({
  command: 'reset-password <user>',
  describe: 'send a user a mail with a link to set a new password',
  builder: (parser) =>
    parser
      .positional('user', USER)
      .options({ code: { type: 'boolean', describe: 'print the code instead of sending a mail' } })
      .example('$0 users reset-password ann@acme.example', ''),
  async handler({ user, code, ...options }) {
    const { out, api } = await openSession(options);
    const userId = await userIdOf(api, user);
    const body = code ? { returnCode: {} } : { sendLink: {} };
    const answer = await api.call<{ verificationCode?: string }>('POST', userPath(userId, '/password_reset'), { body });
    out.result(answer);
    if (!answer.verificationCode) return out.line(`A mail with a link is on its way to user ${userId}.`);
    out.note(`Anyone with this code can set a new password for user ${userId}, once:`);
    out.line(answer.verificationCode);
  },
});
