/**
 * Every stable id of an error: its status, what it means and what to do. An id that is not in this list does not
 * compile; the types of `ApiError` and `errorBody` come from it.
 *
 * Plain data, which loads nothing: the command line reads it too. `docs/errors.md` is printed from it.
 */
import { type ErrorId, type KnownError, STATUS, type StatusName } from '../platform/errors.ts';
import { IMPORT_ERRORS } from './errors/imports.ts';
import { ORGANIZATION_ERRORS } from './errors/organizations.ts';
import { PAGE_ERRORS } from './errors/pages.ts';
import { REQUEST_ERRORS } from './errors/requests.ts';
import { USER_ERRORS } from './errors/users.ts';

/** The groups of errors, in the order in which they are shown. */
export const ERROR_GROUPS = [
  ['Requests, tokens and the service', REQUEST_ERRORS],
  ['Organizations, members, policies, clients and events', ORGANIZATION_ERRORS],
  ['Users, credentials and sessions', USER_ERRORS],
  ['Imports', IMPORT_ERRORS],
  ['Pages', PAGE_ERRORS],
] as const;

export const ERRORS = {
  ...REQUEST_ERRORS,
  ...ORGANIZATION_ERRORS,
  ...USER_ERRORS,
  ...IMPORT_ERRORS,
  ...PAGE_ERRORS,
} as const;
type Errors = typeof ERRORS;

/** Of errors that do not say otherwise. */
export const FIRST_VERSION = '1.0.0';

/** Whether a text is the id of an error. */
export function isErrorId(text: string): text is ErrorId {
  return Object.hasOwn(ERRORS, text);
}

/** A status of an error, with what it means then and what to do. */
export interface ErrorCase {
  /** `NOT_FOUND` */
  status: StatusName;
  http: number;
  meaning: string;
  remedy: string;
}

/** The first version that raises an id. */
export function sinceOf(id: ErrorId): string {
  const { since = FIRST_VERSION }: KnownError = ERRORS[id];
  return since;
}

/** What an id stands for: a case for each of its statuses, the usual one first. */
export function casesOf(id: ErrorId): ErrorCase[] {
  const { status, http, meaning, remedy }: KnownError = ERRORS[id];
  const one = (text: string | readonly string[], i: number) => (typeof text === 'string' ? text : (text[i] as string));
  return [status].flat().map((name: StatusName, i) => ({
    status: name,
    http: http ?? STATUS[name].http,
    meaning: one(meaning, i),
    remedy: one(remedy, i),
  }));
}

// The part that raises errors knows their ids by this type only, as it may not import this list.
declare module '../platform/errors.ts' {
  interface ErrorIds extends Errors {}
}
