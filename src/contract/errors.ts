/**
 * Every stable id of an error: its status, what it means and what to do. An id that is not in this list does not
 * compile; the types of `ApiError` and `errorBody` come from it.
 *
 * Plain data, which loads nothing. `docs/errors.md` is printed from it.
 */
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

// The part that raises errors knows their ids by this type only, as it may not import this list.
declare module '../platform/errors.ts' {
  interface ErrorIds extends Errors {}
}
