/**
 * What a person may do to a user: when it is possible, what it will do, and the call of the API that does it.
 *
 * Guarantee: an action that the API would refuse this person is neither shown nor reachable by its address.
 */
import { type Caller, covers, may, type Rights } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import type { Api } from '../api.ts';
import { USER_ACTIONS } from '../texts/user.ts';
import type { Background } from './background.ts';
import { apiPath, type UserAnswer } from './shapes.ts';

/** Everything that a page about a user needs. */
export interface Subject extends UserAnswer {
  background: Background | undefined;
  /** The roles of the user. */
  rights: Rights;
}

export type ActionName = keyof typeof USER_ACTIONS;

export interface Action {
  name: ActionName;
  operation: OperationId;
  /** Whether the state of the user allows it. */
  fits(subject: Subject): boolean;
  /** What it will do, in the order in which it matters. */
  effects(subject: Subject): readonly string[];
  run(api: Api, userId: string): Promise<unknown>;
  /** Removes something for good: the person types the user name first. */
  isFinal?: true;
}

const isIn =
  (...states: string[]) =>
  ({ user }: Subject) =>
    states.includes(user.state.replace('USER_STATE_', ''));

const change = (verb: string) => (api: Api, userId: string) => api.send(`${apiPath(userId)}/${verb}`);

export const ACTIONS: readonly Action[] = [
  {
    name: 'unlock',
    operation: 'unlockUser',
    fits: isIn('LOCKED'),
    effects: ({ background }) => USER_ACTIONS.unlock.effects(background?.hasPassword ?? true),
    run: change('unlock'),
  },
  {
    name: 'reactivate',
    operation: 'reactivateUser',
    fits: isIn('INACTIVE'),
    effects: ({ background }) => USER_ACTIONS.reactivate.effects(background?.hasPassword ?? true),
    run: change('reactivate'),
  },
  {
    name: 'resend',
    operation: 'resendEmailCode',
    fits: ({ user }) => !!user.human?.email.email && !user.human.email.isVerified,
    effects: (subject) => USER_ACTIONS.resend.effects(addressOf(subject), isIn('INITIAL')(subject)),
    run: change('email/resend'),
  },
  {
    name: 'reset',
    operation: 'resetPassword',
    fits: (subject) => !!addressOf(subject) && !isIn('INACTIVE')(subject),
    effects: (subject) => USER_ACTIONS.reset.effects(addressOf(subject), resetMail(subject)),
    run: (api, userId) => api.send(`${apiPath(userId)}/password_reset`, { sendLink: {} }),
  },
  {
    name: 'lock',
    operation: 'lockUser',
    fits: isIn('ACTIVE', 'INITIAL'),
    effects: () => USER_ACTIONS.lock.effects(),
    run: change('lock'),
  },
  {
    name: 'deactivate',
    operation: 'deactivateUser',
    fits: isIn('ACTIVE', 'INITIAL', 'LOCKED'),
    effects: () => USER_ACTIONS.deactivate.effects(),
    run: change('deactivate'),
  },
  {
    name: 'delete',
    operation: 'deleteUser',
    fits: () => true,
    effects: () => USER_ACTIONS.delete.effects(),
    run: (api, userId) => api.send(apiPath(userId), {}, { method: 'DELETE' }),
    isFinal: true,
  },
];

/** The mail that `password_reset` sends, as accounts/password-reset.ts chooses it. */
function resetMail(subject: Subject): 'first' | 'verify' | 'new' {
  const isVerified = subject.user.human?.email.isVerified ?? false;
  if (isIn('INITIAL')(subject) || !(isVerified || subject.background?.hasPassword)) return 'first';
  return isVerified ? 'new' : 'verify';
}

function addressOf({ user }: Subject): string {
  return user.human?.email.email ?? '';
}

/** Whether the person may do it to this user: by their role, and because the user has no more rights than they. */
export function isAllowed(caller: Caller, { operation }: Action, { user, details, rights }: Subject): boolean {
  if (!may(caller, operation, details.resourceOwner)) return false;
  return user.userId === caller.userId || covers(caller, rights);
}

/** The actions to offer on the page of the user. */
export function actionsFor(caller: Caller, subject: Subject): Action[] {
  return ACTIONS.filter((action) => isAllowed(caller, action, subject) && action.fits(subject));
}
