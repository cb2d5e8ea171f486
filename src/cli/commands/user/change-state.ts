/** Deactivate, reactivate, lock, unlock: the same command, in different words. */
import { type CommonOptions, openSession } from '../../service/session.ts';
import { userIdOf, userPath } from '../../service/users.ts';
import { type Subcommand, subcommand } from '../../subcommands.ts';
import { USER } from './user-option.ts';

interface Options extends CommonOptions {
  user: string;
}

const CHANGES: readonly [name: string, describe: string, done: string][] = [
  ['deactivate', 'stop a user from logging in until reactivated', 'is now inactive, and logged out everywhere'],
  ['reactivate', 'let a deactivated user log in again', 'is active again'],
  ['lock', 'stop a user from logging in until unlocked', 'is now locked, and logged out everywhere'],
  ['unlock', 'let a locked user log in again, also after too many failed logins', 'is unlocked'],
];

export const stateChanges: readonly Subcommand[] = CHANGES.map(([name, describe, done]) =>
  subcommand<Options>({
    command: `${name} <user>`,
    describe,
    builder: (parser) => parser.positional('user', USER).example(`$0 users ${name} ann@acme.example`, ''),
    async handler({ user, ...options }) {
      const { out, api } = await openSession(options);
      const userId = await userIdOf(api, user);
      out.result(await api.call('POST', userPath(userId, `/${name}`), { body: {} }));
      out.line(`User ${userId} ${done}.`);
    },
  }),
);
