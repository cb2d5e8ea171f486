/** Errors of organizations, their members, policies, clients, password sources, identity providers, and of audit events. */
import type { KnownError } from '../../platform/errors.ts';
import { FIELDS, invalid } from './invalid.ts';

export const ORGANIZATION_ERRORS = {
  'ORG-SETUP': invalid('setup of an organization'),
  'ORG-INVALID': invalid('new organization'),
  'ORG-SEARCH': invalid('search of organizations'),
  'ORG-LIMITS': invalid('limits of an organization'),
  'ALLOWED-URLS': {
    status: 'INVALID_ARGUMENT',
    meaning: 'A field of the allowed URLs is missing or invalid.',
    remedy: FIELDS,
  },
  'SIGN-IN-NAMES': {
    status: 'INVALID_ARGUMENT',
    meaning: 'A field of the sign-in names is missing or invalid.',
    remedy: FIELDS,
  },
  'ORG-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The organization does not exist.',
    remedy: 'Check the id of the organization, in the body or in `x-service-orgid`.',
  },
  'ORG-ID-TAKEN': {
    status: 'ALREADY_EXISTS',
    meaning: 'Another organization has or had this id.',
    remedy: 'Choose another id, or leave it out.',
  },
  'ORG-DOMAIN-TAKEN': {
    status: 'ALREADY_EXISTS',
    meaning: 'Another organization has this domain.',
    remedy: 'Choose another domain, or leave it out.',
  },
  'ORG-INACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization is deactivated or deleted.',
    remedy: 'IAM_OWNER: reactivate or restore the organization first.',
  },
  'ORG-STATE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The state of the organization does not allow this change.',
    remedy: 'Read the state of the organization. The message names the state that is needed.',
  },
  'ORG-LIMIT-REQUESTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The organization of the caller has sent too many requests in this minute.',
    remedy: 'Wait for the number of seconds in `Retry-After`. IAM_OWNER: raise the limit.',
  },
  'ORG-LIMIT-IMPORTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'An organization of the users has as many imports that have not ended as its limit allows.',
    remedy: 'Wait until one of its imports has ended. IAM_OWNER: raise the limit.',
  },
  'ORG-LIMIT-USERS': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization would have more users than its limit allows.',
    remedy: 'Delete users that are not needed. IAM_OWNER: raise the limit.',
  },
  'ORG-LIMIT-USERS-PER-IMPORT': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The import has more users of the organization than its limit allows.',
    remedy: 'Send the users in several imports. IAM_OWNER: raise the limit.',
  },
  'MEMBER-INVALID': invalid('new member'),
  'MEMBER-SEARCH': invalid('search of members'),
  'MEMBER-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The user is already a member.',
    remedy: 'To change the roles, remove the member, and add them again.',
  },
  'MEMBER-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user is not a member.',
    remedy: 'Search the members for the id of the user.',
  },
  'MEMBER-LAST-OWNER': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The instance would have no active IAM_OWNER left who can sign in.',
    remedy: 'Make another user IAM_OWNER first, or add another credential to this one.',
  },
  'MEMBER-LAST-ORG-OWNER': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization would have no ORG_OWNER left who can sign in, and the caller is not an IAM_OWNER.',
    remedy: 'Make another user ORG_OWNER first, or add another credential to this one.',
  },
  'POLICY-AGE-INVALID': invalid('password age policy'),
  'POLICY-AGE-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The organization already has its own password age policy.',
    remedy: 'Update the policy with PUT.',
  },
  'POLICY-AGE-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The organization does not have its own password age policy.',
    remedy: 'Add the policy with POST.',
  },
  'POLICY-COMPLEXITY-INVALID': invalid('password complexity policy'),
  'POLICY-COMPLEXITY-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The organization already has its own password complexity policy.',
    remedy: 'Update the policy with PUT.',
  },
  'POLICY-COMPLEXITY-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The organization does not have its own password complexity policy.',
    remedy: 'Add the policy with POST.',
  },
  'POLICY-LOGIN-INVALID': invalid('login policy'),
  'POLICY-LOGIN-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The organization already has its own login policy.',
    remedy: 'Update the policy with PUT.',
  },
  'POLICY-BRANDING-INVALID': invalid('branding'),
  'CLIENT-INVALID': invalid('OAuth client'),
  'CLIENT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The client does not exist.',
    remedy: 'List the clients for their ids.',
  },
  'PASSWORD-SOURCE-INVALID': invalid('password source'),
  'PASSWORD-SOURCE-TEST': invalid('test of a password source'),
  'PASSWORD-SOURCE-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The password source does not exist.',
    remedy: 'List the password sources of the organization for their ids.',
  },
  'PASSWORD-SOURCE-ENDED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password source has ended.',
    remedy: 'Add a new password source. Users of the ended source must set a new password.',
  },
  'PASSWORD-SOURCE-IN-USE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Users still need the password source.',
    remedy: 'End the password source first.',
  },
  'PASSWORD-SOURCES-FULL': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization has too many password sources.',
    remedy: 'Delete a password source that no user needs any more.',
  },
  'PASSWORD-SOURCE-UNAVAILABLE': {
    status: 'UNAVAILABLE',
    meaning: 'The system that verifies the password of this user does not answer.',
    remedy:
      'Wait for the number of seconds in `Retry-After`, then try again. Owner: check the status of the password source.',
  },
  'IDP-INVALID': invalid('identity provider'),
  'IDP-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The identity provider does not exist.',
    remedy: 'List the identity providers of the organization, or of the instance, for their ids.',
  },
  'IDP-ALIAS-TAKEN': {
    status: 'ALREADY_EXISTS',
    meaning: 'Another identity provider of the same owner has this alias.',
    remedy: 'Remove the alias from the other provider first, or leave it out here. The message names both.',
  },
  'IDPS-FULL': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization or the instance has too many identity providers.',
    remedy: 'Remove an identity provider that nobody needs any more.',
  },
  'IDP-UNAVAILABLE': {
    status: 'UNAVAILABLE',
    meaning: 'The identity provider does not answer, or not as it should.',
    remedy: 'Try again later, or let the user sign in in another way. `muster idps check` says what is wrong.',
  },
  'IDP-INTENT-INVALID': invalid('sign-in at an identity provider'),
  'IDP-INTENT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The intent does not exist, has expired, or was started by somebody else.',
    remedy: 'Start a new intent, and send the browser to the provider again.',
  },
  'IDP-INTENT-TOKEN': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The token is not that of the intent, or has opened a session already.',
    remedy: 'Send `id` and `token` as the success URL got them. Start a new intent if a session was opened with it.',
  },
  'EVENTS-SEARCH': invalid('search of audit events'),
  'EVENTS-EXPORT': invalid('export of audit events'),
  'EVENTS-SLOTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning:
      'The caller, the organization or the server has too many searches and exports of events, or downloads of data, under way.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
} as const satisfies Record<string, KnownError>;
