/** `muster admin`: getting back in when no administrator can. It runs where the service runs, as it needs the keys. */
import { hostname, userInfo } from 'node:os';
import type { Recovered } from '../../signin/recover.ts';
import { command, group } from '../command.ts';
import { argument } from '../options.ts';
import { besideDatabase, ofTheServer } from '../service/server-part.ts';
import type { Output } from '../terminal/output.ts';

const recover = command({
  usage: 'recover <user>',
  describe: "on the server's machine: make a user IAM_OWNER, and give them a link to set a password",
  options: {
    user: argument('id, login name or email address'),
    create: { type: 'boolean', describe: 'create a person with this email address' },
    'remove-second-factor': { type: 'boolean', describe: 'for somebody who has lost their second factor too' },
  },
  examples: [
    ['$0 admin recover ann@acme.example', 'prints a link that works once'],
    ['$0 admin recover ops@acme.example --create', 'when there is nobody to recover'],
    ['$0 admin recover muster-admin', 'of a machine user: prints a token for a day'],
  ],
  async run({ out }, { user: name, create, removeSecondFactor, shell }) {
    const [{ recoverAdministrator }, { requireCurrent }] = await ofTheServer(
      Promise.all([import('../../signin/recover.ts'), import('../../operate/known-keys.ts')]),
    );
    const recovered = await besideDatabase(shell.env, 'muster admin', async ({ pool, secrets, config }) => {
      await requireCurrent(pool, secrets);
      return recoverAdministrator({ pool, secrets, config }, { name, create, removeSecondFactor, by: account() });
    });
    out.result(recovered);
    show(out, recovered);
  },
});

/** The account that runs this, and the host. An account of a container may have no name. */
function account(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `uid ${process.getuid?.()}@${hostname()}`;
  }
}

const DONE: Record<Recovered['changes'][number], string> = {
  created: 'was created as IAM_OWNER',
  reactivated: 'is active again',
  unlocked: 'is unlocked',
  secondFactorRemoved: 'has no second factor any more',
  madeOwner: 'is now IAM_OWNER',
};

function show(out: Output, { userId, loginName, changes, link, token, expiresAt }: Recovered): void {
  const done = changes.length === 0 ? ['is IAM_OWNER and active already'] : changes.map((change) => DONE[change]);
  out.note(`User ${userId} (${loginName}) ${done.join(', ')}.`);
  const what = link ? 'Anyone with this link can set their password, once' : 'Anyone with this token is IAM_OWNER';
  out.note(`${what}, until ${expiresAt.toISOString()}:`);
  out.line(link ?? token ?? '');
}

export const admin = group('admin', 'recover a lost administrator', [recover]);
