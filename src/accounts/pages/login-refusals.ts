/** The pages of a login for what a check refuses. */
import { ApiError } from '../../errors.ts';
import { loginForm, pausedPage, stopPage } from '../../pages/login-forms.ts';
import type { Problem } from '../../pages/parts.ts';
import { show, type Turn } from './login-visit.ts';

const WRONG: Problem = { message: 'The login name or the password is wrong.', fields: ['loginName', 'password'] };
const LATER: Problem = {
  message: 'We cannot check your password right now. Please try again in a few minutes.',
  fields: [],
};
export const AGAIN: Problem = {
  message: 'That took too long, or your account has changed. Please sign in again.',
  fields: [],
};

/** Shows the page for an error of a check; rethrows what is none. */
export function refuse(turn: Turn, error: unknown, loginName: string, problem: Problem = WRONG): void {
  const { id, retryAfterS } = error instanceof ApiError ? error : { id: undefined };
  const { frame } = turn.visit;
  const stop = stopPage(frame, id);
  if (stop) show(turn, 400, stop);
  else if (id === 'SESSION-CREDENTIALS') show(turn, 400, loginForm(frame, loginName, problem));
  else if (id === 'SESSION-FAILURES') pause(turn, retryAfterS);
  else if (id === 'PASSWORD-SOURCE-UNAVAILABLE') tryLater(turn, loginName, retryAfterS);
  else throw error;
}

function pause(turn: Turn, retryAfterS = 0): void {
  turn.res.set('Retry-After', String(retryAfterS));
  show(turn, 429, pausedPage(turn.visit.frame, Math.ceil(retryAfterS / 60)));
}

/** Nothing is known about the password, so the page says nothing about it. */
function tryLater(turn: Turn, loginName: string, retryAfterS = 0): void {
  turn.res.set('Retry-After', String(retryAfterS));
  show(turn, 503, loginForm(turn.visit.frame, loginName, LATER));
}

/** The same page for an unknown user and a wrong password. */
export function wrong(turn: Turn, loginName: string): void {
  show(turn, 400, loginForm(turn.visit.frame, loginName, WRONG));
}

/** For a form that is too old, or whose user has changed since. */
export function startAgain(turn: Turn): void {
  show(turn, 400, loginForm(turn.visit.frame, turn.visit.loginName, AGAIN));
}

export function isRefusal(error: unknown, id: string): boolean {
  return error instanceof ApiError && error.id === id;
}
