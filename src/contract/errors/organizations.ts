/** Errors of organizations, their members, policies, clients, password sources, and of audit events. */
import type { KnownError } from '../../platform/errors.ts';
import { FIELDS, invalid } from './invalid.ts';

export const ORGANIZATION_ERRORS = {
  'ORG-SETUP': invalid('body'),
  'ORG-INVALID': invalid('body'),
  'ORG-SEARCH': invalid('search'),
  'ORG-LIMITS': invalid('limits'),
  'ALLOWED-URLS': { status: 'INVALID_ARGUMENT', meaning: 'The list of allowed URLs is invalid.', remedy: FIELDS },
  'SIGN-IN-NAMES': { status: 'INVALID_ARGUMENT', meaning: 'The list of sign-in names is invalid.', remedy: FIELDS },
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
    remedy: 'Reactivate or restore the organization first.',
  },
  'ORG-STATE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization is not in a state in which this is possible.',
    remedy: 'Read the state of the organization. The message names the state that is needed.',
  },
  'ORG-LIMIT-REQUESTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The organization of the caller has sent too many requests in this minute.',
    remedy: 'Wait for the number of seconds in `Retry-After`, or let an IAM_OWNER raise the limit.',
  },
  'ORG-LIMIT-IMPORTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'An organization of the users may not have more imports at once.',
    remedy: 'Wait until one of its imports has ended, or let an IAM_OWNER raise the limit.',
  },
  'ORG-LIMIT-USERS': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization may not have so many users.',
    remedy: 'Delete users that are not needed, or let an IAM_OWNER raise the limit.',
  },
  'ORG-LIMIT-USERS-PER-IMPORT': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization may not have so many users in one import.',
    remedy: 'Send the users in several imports, or let an IAM_OWNER raise the limit.',
  },
  'MEMBER-INVALID': invalid('member'),
  'MEMBER-SEARCH': invalid('search'),
  'MEMBER-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The user is already a member.',
    remedy: 'To change the roles, remove the member and add it again.',
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
  'POLICY-AGE-INVALID': invalid('policy'),
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
  'POLICY-COMPLEXITY-INVALID': invalid('policy'),
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
  'POLICY-LOGIN-INVALID': invalid('policy'),
  'POLICY-LOGIN-EXISTS': {
    status: 'ALREADY_EXISTS',
    meaning: 'The organization already has its own login policy.',
    remedy: 'Update the policy with PUT.',
  },
  'CLIENT-INVALID': invalid('client'),
  'CLIENT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The client does not exist.',
    remedy: 'List the clients for its id.',
  },
  'PASSWORD-SOURCE-INVALID': invalid('password source'),
  'PASSWORD-SOURCE-TEST': invalid('test'),
  'PASSWORD-SOURCE-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The password source does not exist.',
    remedy: 'List the password sources of the organization for its id.',
  },
  'PASSWORD-SOURCE-ENDED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password source has ended.',
    remedy: 'Add a new password source. Users of the ended one set a new password.',
  },
  'PASSWORD-SOURCE-IN-USE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Users still need the password source.',
    remedy: 'End it first.',
  },
  'PASSWORD-SOURCES-FULL': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization has too many password sources.',
    remedy: 'Delete one that no user needs any more.',
  },
  'PASSWORD-SOURCE-UNAVAILABLE': {
    status: 'UNAVAILABLE',
    meaning: 'The system that verifies the password of this user does not answer.',
    remedy: 'Try again later, and look at the status of the password source.',
  },
  'EVENTS-SEARCH': invalid('search'),
  'EVENTS-EXPORT': invalid('filter'),
  'EVENTS-SLOTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many searches and exports of events under way.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
} as const satisfies Record<string, KnownError>;
