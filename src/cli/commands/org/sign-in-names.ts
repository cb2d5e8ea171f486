import type { Argv } from 'yargs';
import { findOrg } from '../../service/find-org.ts';
import { type CommonOptions, openSession } from '../../service/session.ts';
import { subcommand } from '../../subcommands.ts';

const PATH = '/management/v1/orgs/me/sign_in_names';
const NAMES = ['userName', 'loginName', 'email'] as const;

interface Options extends CommonOptions {
  org: string;
  set?: string[] | undefined;
}

export const signInNames = subcommand<Options>({
  command: 'sign-in-names <org>',
  describe: 'show or set the names that users sign in with',
  builder: (parser: Argv<CommonOptions>) =>
    parser
      .positional('org', { type: 'string', demandOption: true, describe: 'id, exact name or domain' })
      .options({
        set: { choices: NAMES, array: true, requiresArg: true, describe: 'the names that sign in from now on' },
      })
      .example('$0 orgs sign-in-names acme', 'show them')
      .example(
        '$0 orgs sign-in-names acme --set userName email',
        'no longer with the domain',
      ) as unknown as Argv<Options>,
  async handler({ org: text, set, ...options }) {
    const { out, api } = await openSession(options);
    const org = await findOrg(api, text);
    if (set) await api.call('PUT', PATH, { org, body: { signInNames: set } });
    const found = await api.call<{ signInNames: string[] }>('GET', PATH, { org });
    out.result(found);
    out.line(`Users of ${org} sign in with: ${found.signInNames.join(', ')}`);
  },
});
