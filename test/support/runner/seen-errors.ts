/**
 * Compares the errors that tests have seen (collect-errors.ts) with those that the operations list.
 *
 * An error that an operation answers and does not list is a problem of every run; one that is listed and that no test
 * has seen is a problem of a whole run.
 */
import { errorsOf, generalErrorsOf, statusesOf } from '../../../src/contract/error-answers.ts';
import { ERRORS } from '../../../src/contract/errors.ts';
import { OPERATIONS } from '../../../src/contract/operations.ts';
import type { ErrorId } from '../../../src/platform/errors.ts';

/** What no test sees over HTTP: the reason, and the operations with their ids. */
const UNSEEN: readonly [reason: string, errors: readonly string[]][] = [
  [
    'a race: two corrections, or an upload that a worker gives up',
    ['fixImportItem IMPORT-ITEM-CHANGED', 'importUsers IMPORT-ABORTED'],
  ],
  [
    'a race: the organization was removed after the conversion',
    ['checkImport ORG-NOT-FOUND', 'startImport ORG-NOT-FOUND'],
  ],
  ['128 attempts at once: test/signin/login.test.ts makes them without HTTP', ['createSession SESSION-ATTEMPTS']],
  ['only requests that are made at random see them', ['createOrg ORG-DOMAIN-TAKEN', 'removePat PAT-NOT-A-MACHINE']],
  ['a file that takes longer than the limit of the guess', ['guessImport DRAFT-UNREADABLE']],
  ['as a user name that is taken, which tests see', ['importHumanUser USER-ID-TAKEN']],
  [
    'what a worker stores with a user, which tests see in the items of imports',
    [
      ...['IMPORT-FAILED', 'IMPORT-USER-FAULT', 'IMPORT-USER-REFUSED', 'IMPORT-KEY-LOST', 'USER-ERASED'].map(
        (id) => `importHumanUser ${id}`,
      ),
    ],
  ],
  ['the places of searches and exports are the same ones', ['exportEvents EVENTS-SLOTS', 'getUserData EVENTS-SLOTS']],
  [
    '`removeCredential` decides, as for tokens',
    [
      ...['removeKey MEMBER-LAST-OWNER', 'removeKey MEMBER-LAST-ORG-OWNER'],
      ...['removeSecret MEMBER-LAST-OWNER', 'removeSecret MEMBER-LAST-ORG-OWNER'],
    ],
  ],
  [
    '`requireOwnerProof` counts, as for a new password',
    [
      'setEmail',
      'setPhone',
      'removePhone',
      'addTotp',
      'removeTotp',
      'addUserLink',
      'removeUserLink',
      'endLogin',
      'endLogins',
    ].map((id) => `${id} SESSION-FAILURES`),
  ],
  [
    '`requireOwnerProof` and `requireNoLostFactor` decide, whose errors tests see for apps, addresses and passkeys',
    [
      ...['addOtpEmail', 'addOtpSms', 'registerPasskey', 'deleteUser'].map((id) => `${id} SESSION-FAILURES`),
      ...['addOtpSms', 'addUserLink', 'removePhone', 'removeTotp', 'removeUserLink'].flatMap((id) => [
        `${id} CODE-INVALID`,
        `${id} FACTOR-LOST`,
      ]),
      'registerPasskey CODE-INVALID',
      ...['makeRecoveryCodes', 'removeRecoveryCodes', 'removeTotpApp', 'resetFactors'].flatMap((id) =>
        ['AUTH-SIGN-IN-AGAIN', 'CODE-INVALID', 'FACTOR-LOST', 'SESSION-FAILURES'].map((error) => `${id} ${error}`),
      ),
      ...['removeOtpEmail', 'removeOtpSms'].flatMap((id) =>
        ['CODE-INVALID', 'FACTOR-LOST', 'SESSION-FAILURES'].map((error) => `${id} ${error}`),
      ),
      ...['removePasskey', 'removeRecoveryCodes', 'removeTotpApp', 'resetFactors'].map(
        (id) => `${id} PASSWORD-CURRENT`,
      ),
      ...['AUTH-SIGN-IN-AGAIN', 'SESSION-FAILURES'].map((error) => `removePasskey ${error}`),
    ],
  ],
  [
    '`requireWayIn` decides, as for links and passkeys',
    ['removePhone', 'addOtpSms', 'removeOtpSms', 'removeOtpEmail'].map((id) => `${id} LAST-WAY-IN`),
  ],
  [
    '`mailRequested` counts, as for a password reset',
    ['setEmail', 'resendEmailCode', 'setPhone', 'resendPhoneCode', 'updateHumanUser'].map((id) => `${id} MAIL-LIMIT`),
  ],
  [
    'what starts an import is checked by the same functions, whose errors tests see for other operations',
    [
      ...['ORG-INACTIVE', 'IMPORT-RIGHTS', 'DRAFT-ORG', 'IMPORT-BACKLOG', 'IMPORT-RUNNING', 'ORG-LIMIT-IMPORTS'].map(
        (id) => `checkImport ${id}`,
      ),
      ...[
        'ORG-INACTIVE',
        'IMPORT-BACKLOG',
        'IMPORT-RUNNING',
        'ORG-LIMIT-USERS-PER-IMPORT',
        'IMPORT-WEBHOOK-SECRET',
      ].map((id) => `startImport ${id}`),
      ...['ORG-LIMIT-USERS-PER-IMPORT'].map((id) => `resumeImport ${id}`),
      ...['ORG-INACTIVE', 'ORG-LIMIT-USERS', 'ORG-LIMIT-USERS-PER-IMPORT'].map((id) => `retryImport ${id}`),
    ],
  ],
];

/** `GET /v2beta/users/:userId` of each operation. */
const BY_ROUTE = new Map(OPERATIONS.map((operation) => [operation.path.replace(/\{(\w+)\}/g, ':$1'), operation]));

/** @param text lines of `<method> <path of the route> <id> <HTTP status>` */
export function problemsOf(text: string, { isWhole }: { isWhole: boolean }): string[] {
  const answers = [...new Set(text.split('\n'))].filter(Boolean).map(answerOf);
  const seen = new Set(answers.map(({ operation, id }) => `${operation?.id} ${id}`));
  return [...answers.flatMap(unlisted), ...(isWhole ? unseen(seen) : [])];
}

function answerOf(line: string) {
  const [method, route, id, http] = line.split(' ') as [string, string, string, string];
  const operation = BY_ROUTE.get(`${method} ${route}`) ?? BY_ROUTE.get(`${method.replace('HEAD', 'GET')} ${route}`);
  return { operation, id: id as ErrorId, http: Number(http) };
}

function unlisted({ operation, id, http }: ReturnType<typeof answerOf>): string[] {
  // Of the OAuth endpoints, as RFC 6749 has them.
  if (!Object.hasOwn(ERRORS, id)) return /^[a-z_]+$/.test(id) ? [] : [`${id} is not in src/contract/errors.ts.`];
  if (!statusesOf(id).includes(http)) return [`${id} was answered with ${http}, which src/contract/errors.ts has not.`];
  if (!operation || generalErrorsOf(operation).some((error) => error.id === id)) return [];
  const isListed = errorsOf(operation).some((error) => error.id === id && error.http === http);
  return isListed ? [] : [`${operation.id} answered ${http} ${id}, which its \`errors\` do not list.`];
}

function unseen(seen: ReadonlySet<string>): string[] {
  const listed = OPERATIONS.flatMap((operation) => errorsOf(operation).map(({ id }) => `${operation.id} ${id}`));
  const excepted = UNSEEN.flatMap(([, errors]) => errors);
  const missing = listed.filter((one) => !seen.has(one) && !excepted.includes(one));
  const stale = excepted.filter((one) => !listed.includes(one));
  return [
    ...missing.map((one) => `No test has seen ${one.replace(' ', ' answer ')}: write one, or list it no more.`),
    ...stale.map((one) => `UNSEEN has ${one.replace(' ', ' with ')}, which it does not list.`),
  ];
}
