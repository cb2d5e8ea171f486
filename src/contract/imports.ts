/** The operations on imports. */
import { z } from 'zod';
import {
  exampleAccepted,
  exampleBody,
  exampleBodyLines,
  exampleCauses,
  exampleCsv,
  exampleEvent,
  exampleFailedItem,
  exampleFix,
  exampleFixed,
  exampleLines,
  examplePatch,
  exampleProgress,
  exampleRates,
  exampleResult,
  exampleSignIns,
  exampleUndoPreview,
  exampleUser,
} from './import-examples.ts';
import { importQuery } from './import-options.ts';
import { fixBody, itemsQuery, listQuery, noBody, reportQuery, resumeBody } from './import-requests.ts';
import {
  accepted,
  bulkAnswerHeaders,
  bulkHeaders,
  causes,
  duration,
  fixed,
  importBody,
  item,
  itemState,
  itemWithEntry,
  keyHeaders,
  patchBody,
  pepperHeaders,
  progress,
  rates,
  result,
  shownUser,
  stateCounts,
  undoPreview,
  warnings,
} from './import-results.ts';
import { signIns } from './import-sign-ins.ts';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';
import { details, exampleDetails } from './shapes.ts';

const ofLines = {
  timeout: duration()
    .optional()
    .meta({ description: 'Time limit of the import. Required for NDJSON; a JSON body contains its own.' }),
};
const importLines = {
  schema: z.string().meta({
    description: 'One user per line: `{"orgId", "userId", "state", "user"}`. Organizations can come in any order.',
  }),
  example: exampleBodyLines,
};
// Somebody who asks for a dry run of an undo must not get the undo.
const emptyBody = {
  schema: z.strictObject({}),
  reads: noBody,
  error: 'IMPORT-ACTION',
  examples: { nothing: {} },
} as const;
const IDEMPOTENT = 'Idempotent: repeating the call has no further effect.';
const newTimeout = {
  schema: resumeBody.extend({ timeout: duration().optional() }),
  examples: { 'half an hour': { timeout: '30m0s' } },
};
/** Entries as they were sent, including their invalid fields. */
const correctable = z.object({
  dataOrgs: z.object({ orgs: z.array(z.object({ orgId: z.string(), humanUsers: z.array(z.unknown()) })) }),
  timeout: z.string(),
});
const nextPageToken = z.string().meta({ description: 'The `pageToken` of the next page; empty on the last page.' });
const isDone = { 200: { schema: result, example: exampleResult, description: 'The import in its new state.' } };

export const importOperations = operations({
  importHumanUser: {
    path: 'POST /management/v1/users/human/_import',
    who: OWNER,
    of: 'org',
    summary: 'Import a human user',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description:
      'Responds when the user is written, or when the time limit of the service is over. Sends an email if the address ' +
      'is not marked as verified or no password is set, and not otherwise.',
    headers: keyHeaders.extend(pepperHeaders.shape),
    body: { schema: shownUser, examples: { 'with a hash': exampleUser } },
    answers: {
      200: {
        schema: z.object({ userId: z.string(), details, warnings: warnings.optional() }),
        example: { userId: 'auth0|60425dc4', details: exampleDetails },
        description: 'The user exists.',
      },
    },
    errors: [
      'IMPORT-USER-INVALID',
      'IMPORT-KEY',
      'IMPORT-PEPPER',
      'ORG-INACTIVE',
      'ORG-LIMIT-USERS',
      'USER-ID-TAKEN',
      'USER-NAME-TAKEN',
      'PASSKEY-TAKEN',
      'IMPORT-KEY-REUSED',
      '504 IMPORT-TIMEOUT',
      'IMPORT-PASSWORD-SOURCE',
      'IMPORT-SINGLES',
      // What a worker stores with the user.
      'IMPORT-FAILED',
      'IMPORT-USER-FAULT',
      'IMPORT-USER-REFUSED',
      'IMPORT-KEY-LOST',
      'USER-ERASED',
    ],
  },
  importUsers: {
    path: 'POST /admin/v1/import',
    who: OWNER,
    of: 'body',
    summary: 'Import many human users',
    description:
      'Acceptance is all or nothing: the first fatal error of the body, in its order, refuses the request. An invalid user ' +
      'becomes a failed item; the others are still imported. The ' +
      'body can be gzip-compressed. The caller needs the role in every organization of the body. With `dryRun`, the ' +
      'service checks every user and reports the outcome, but writes no user. In NDJSON, each line is one user with ' +
      'their `orgId`, and the query contains the timeout. With `draft`, the users are kept as a draft. The service calls `webhook` with the ImportProgress plus ' +
      '`type` (`import.ended`) and `timestamp`, signed according to Standard Webhooks.',
    query: importQuery.extend(ofLines),
    headers: bulkHeaders,
    body: {
      schema: importBody,
      examples: { 'two users': exampleBody },
      others: { 'application/x-ndjson': importLines },
    },
    answers: {
      200: {
        schema: result,
        example: exampleResult,
        description: 'The import finished within the time of `Prefer: wait`.',
        headers: bulkAnswerHeaders,
      },
      202: {
        schema: accepted,
        example: exampleAccepted,
        description: 'The import is accepted: every user of the body is stored durably.',
        headers: bulkAnswerHeaders,
      },
    },
    errors: [
      'IMPORT-FORMAT',
      'IMPORT-BODY',
      'IMPORT-DEPTH',
      'IMPORT-ENTRY-SIZE',
      'IMPORT-DUPLICATE-KEY',
      'IMPORT-TIMEOUT',
      'IMPORT-QUERY',
      'IMPORT-KEY',
      'IMPORT-PEPPER',
      'IMPORT-WEBHOOK-SECRET',
      'ORG-INACTIVE',
      'ORG-LIMIT-USERS',
      'ORG-LIMIT-USERS-PER-IMPORT',
      'ORG-NOT-FOUND',
      'IMPORT-ABORTED',
      'IMPORT-KEY-REUSED',
      'IMPORT-BACKLOG',
      'ORG-LIMIT-IMPORTS',
      'IMPORT-DRAFTS',
      'IMPORT-RUNNING',
      'IMPORT-UPLOADS',
      'IMPORT-WAITS',
      'IMPORT-PASSWORD-SOURCE',
    ],
  },
  listImports: {
    path: 'GET /admin/v1/imports',
    who: OWNER,
    of: 'orgs',
    summary: 'List imports, newest first',
    query: listQuery,
    queryError: 'IMPORT-QUERY',
    answers: {
      200: {
        schema: z.object({ imports: z.array(progress), nextPageToken, counts: stateCounts.optional() }),
        example: { imports: [exampleProgress], nextPageToken: '' },
      },
    },
  },
  getImport: {
    path: 'GET /admin/v1/imports/{importId}',
    who: OWNER,
    of: 'import',
    summary: 'Get the result of an import',
    answers: { 200: { ...isDone[200], description: 'The current result of the import.' } },
  },
  listImportItems: {
    path: 'GET /admin/v1/imports/{importId}/items',
    who: OWNER,
    of: 'import',
    summary: 'List the users of an import',
    description:
      'Returns the users in the order of the body. With `query`, `signIn` or `signedIn`, a page can hold fewer items than `pageSize`, even none: ' +
      'read on until `nextPageToken` is empty.',
    query: itemsQuery.extend({ state: itemState.optional() }),
    readsQuery: itemsQuery,
    queryError: 'IMPORT-QUERY',
    answers: {
      200: {
        schema: z.object({ items: z.array(item), nextPageToken }),
        example: {
          items: [
            { index: 0, orgId: 'acme', userId: 'auth0|60425dc4', userName: 'fay.fox', state: 'ITEM_STATE_SUCCEEDED' },
          ],
          nextPageToken: '100',
        },
      },
    },
  },
  getImportItem: {
    path: 'GET /admin/v1/imports/{importId}/items/{index}',
    who: OWNER,
    of: 'import',
    summary: 'Get a user of an import, for editing',
    description:
      'Returns the stored entry of a user who is not imported, also of a draft that was checked. Of a password hash it shows the scheme alone; other ' +
      'secrets are `{"withheld": true}`.',
    answers: { 200: { schema: itemWithEntry, example: exampleFailedItem } },
    errors: ['IMPORT-STATE', 'IMPORT-ITEM-NOT-FOUND'],
  },
  fixImportItem: {
    path: 'PATCH /admin/v1/imports/{importId}/items/{index}',
    who: OWNER,
    of: 'import',
    summary: 'Correct the entry of a failed user',
    description:
      'The body is a JSON merge patch (RFC 7396) of the entry: null removes a field, what is left out stays. The user ' +
      'stays failed, with the error IMPORT-USER-FIXED, until `_retry` imports it; in a draft that was checked, until `_check` ' +
      'judges the entry again or `_start` imports it. Fields that the patch does not touch ' +
      'may stay invalid: the error then names them.',
    body: { schema: patchBody, examples: { 'another address': examplePatch } },
    answers: { 200: { schema: itemWithEntry, example: { ...exampleFailedItem, error: exampleFixed } } },
    errors: [
      'IMPORT-USER-INVALID',
      'IMPORT-PATCH',
      'IMPORT-ITEM-STATE',
      'IMPORT-ERASED',
      'IMPORT-DRY-RUN',
      'IMPORT-STATE',
      'IMPORT-ITEM-NOT-FOUND',
      'IMPORT-ITEM-CHANGED',
      'IMPORT-PASSWORD-SOURCE',
    ],
  },
  listImportCauses: {
    path: 'GET /admin/v1/imports/{importId}/causes',
    who: OWNER,
    of: 'import',
    summary: 'List why users failed',
    description:
      'Groups the failed users by error id, field and, for password hashes, scheme. A user with several invalid fields ' +
      'counts in each of their causes. Returns the 100 most common causes; of a draft, those that its check found.',
    answers: { 200: { schema: causes, example: exampleCauses } },
    errors: ['IMPORT-STATE'],
  },
  fixImport: {
    path: 'POST /admin/v1/imports/{importId}/_fix',
    who: OWNER,
    of: 'import',
    summary: 'Correct all users who failed for one cause',
    description:
      'Applies a remedy to every entry of a cause that it makes valid. `trim-email` removes spaces and writes the ' +
      'address in lower case; `drop-hash` imports without a password, so that a mail asks for one; `email-as-user-name` ' +
      'and `user-name-as-email` copy one to the other; `shorten-name` cuts names of more than 200 characters; `keep-first` and `leave-out` skip the users of the cause. `_retry` ' +
      'then imports those who were corrected, and `_start` those of a draft that was checked. If `next` is not null, call again with it as `from`.',
    body: { schema: fixBody, error: 'IMPORT-FIX', examples: { 'what it would do': exampleFix } },
    answers: {
      200: { schema: fixed, example: { changed: 24, unchanged: 0, examples: [], next: null } },
    },
    errors: ['IMPORT-REMEDY', 'IMPORT-ERASED', 'IMPORT-DRY-RUN', 'IMPORT-STATE', 'IMPORT-FIXES'],
  },
  getImportRates: {
    path: 'GET /admin/v1/imports/{importId}/rates',
    who: OWNER,
    of: 'import',
    summary: 'Get the speed of an import over time',
    description:
      'Returns at most 600 points, oldest first. Each counts the users settled since the previous point; the last one ' +
      'ends now, or when the import ended. A user who is retried counts each time.',
    answers: { 200: { schema: rates, example: exampleRates } },
    errors: ['IMPORT-STATE'],
  },
  getImportSignIns: {
    path: 'GET /admin/v1/imports/{importId}/sign_ins',
    who: OWNER,
    of: 'import',
    summary: 'Get who of an import has signed in since',
    description:
      'Counts the users that the import created by whether they have signed in since, by which way first, and on which day. ' +
      'With `onExisting=update`, users who existed count as not signed in.',
    answers: { 200: { schema: signIns, example: exampleSignIns } },
    errors: ['IMPORT-STATE'],
  },
  streamImportEvents: {
    path: 'GET /admin/v1/imports/{importId}/events',
    who: OWNER,
    of: 'import',
    summary: 'Follow an import',
    description:
      'Sends an ImportProgress on each change, at most four per second, as Server-Sent Events. The stream ends when the ' +
      'import ends: the last message is repeated as an event with the name and the id `end`.',
    headers: z.object({
      'Last-Event-ID': z.string().optional().meta({ description: 'Sent by EventSource when it connects again.' }),
    }),
    answers: {
      200: { schema: z.string(), example: exampleEvent, mediaType: 'text/event-stream' },
      204: { description: '`Last-Event-ID` is `end`, and the import has ended: EventSource stops connecting.' },
    },
    errors: ['IMPORT-STREAMS'],
  },
  getImportReport: {
    path: 'GET /admin/v1/imports/{importId}/report',
    who: OWNER,
    of: 'import',
    summary: 'Download all users of an import',
    description:
      '`ndjson`: one item per line, as in `items`. `csv`: one record per item; a cell that a spreadsheet would run as a ' +
      'formula begins with an apostrophe. `dataorgs`: the users who are not imported, as a body that you can correct ' +
      'and send again; a plain password appears as a hash of it, and you must add every other secret again.',
    query: reportQuery.extend({ state: itemState.optional() }),
    readsQuery: reportQuery,
    queryError: 'IMPORT-QUERY',
    answers: {
      200: {
        schema: z.string(),
        example: exampleLines,
        mediaType: 'application/x-ndjson',
        headers: z.object({ 'Content-Disposition': z.string() }),
        others: {
          'text/csv': { schema: z.string(), example: exampleCsv },
          'application/json': { schema: correctable, example: exampleBody },
        },
      },
    },
    errors: ['IMPORT-STATE'],
  },
  cancelImport: {
    path: 'POST /admin/v1/imports/{importId}/_cancel',
    who: OWNER,
    of: 'import',
    summary: 'Cancel an import',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description: `After the response, no user of the import is written. ${IDEMPOTENT}`,
    body: emptyBody,
    answers: isDone,
    errors: ['IMPORT-STATE'],
  },
  pauseImport: {
    path: 'POST /admin/v1/imports/{importId}/_pause',
    who: OWNER,
    of: 'import',
    summary: 'Pause an import',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description: `After the response, no user of the import is written, and its time limit stops running until \`_resume\`. ${IDEMPOTENT}`,
    body: emptyBody,
    answers: isDone,
    errors: ['IMPORT-STATE'],
  },
  resumeImport: {
    path: 'POST /admin/v1/imports/{importId}/_resume',
    who: OWNER,
    of: 'import',
    summary: 'Resume a paused, timed-out or cancelled import',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description: 'Imports exactly the remaining users. The timeout is required if the deadline has passed.',
    body: newTimeout,
    answers: isDone,
    errors: [
      'IMPORT-TIMEOUT',
      'IMPORT-ERASED',
      'IMPORT-RIGHTS',
      'ORG-INACTIVE',
      'ORG-LIMIT-USERS',
      'ORG-LIMIT-USERS-PER-IMPORT',
      'IMPORT-STATE',
      'ORG-LIMIT-IMPORTS',
    ],
  },
  retryImport: {
    path: 'POST /admin/v1/imports/{importId}/_retry',
    who: OWNER,
    of: 'import',
    summary: 'Retry failed users',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description:
      'Retries users who failed when they were written, because of a conflict or a database error, and those whose ' +
      'entries were corrected. Other invalid entries stay ' +
      `failed. Items that are still pending are processed too. The timeout is required if the deadline has passed. ${IDEMPOTENT}`,
    body: newTimeout,
    answers: isDone,
    errors: [
      'IMPORT-TIMEOUT',
      'IMPORT-ERASED',
      'IMPORT-RIGHTS',
      'ORG-INACTIVE',
      'ORG-LIMIT-USERS',
      'ORG-LIMIT-USERS-PER-IMPORT',
      'IMPORT-STATE',
    ],
  },
  sendImportMails: {
    path: 'POST /admin/v1/imports/{importId}/_send_mails',
    who: OWNER,
    of: 'import',
    summary: 'Send the mails that an import holds',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description:
      'Sends the mails of an import with `mails=none` to the users who still need one. Users who are still pending get ' +
      `theirs when they are written. If the import holds no mails, nothing changes. ${IDEMPOTENT}`,
    body: emptyBody,
    answers: isDone,
    errors: ['IMPORT-DRY-RUN', 'IMPORT-STATE'],
  },
  undoImport: {
    path: 'POST /admin/v1/imports/{importId}/_undo',
    who: OWNER,
    of: 'import',
    summary: 'Undo an import that is not running',
    noQuery: true,
    queryError: 'IMPORT-QUERY',
    description:
      'Removes exactly the users created by the import who have neither signed in nor been changed since. The ' +
      'others stay ITEM_STATE_SUCCEEDED, with the reason in `kept`. The work continues after the response. ' +
      IDEMPOTENT,
    body: emptyBody,
    answers: isDone,
    errors: ['IMPORT-DRY-RUN', 'IMPORT-STATE'],
  },
  previewImportUndo: {
    path: 'GET /admin/v1/imports/{importId}/undo_preview',
    who: OWNER,
    of: 'import',
    summary: 'Preview the undo of an import',
    description:
      'Counts the users that `_undo` would remove now, and those that it would keep, with the reasons. Changes nothing. ' +
      'For an import of a million users it takes some seconds.',
    answers: { 200: { schema: undoPreview, example: exampleUndoPreview } },
    errors: ['IMPORT-DRY-RUN', 'IMPORT-PREVIEWS', 'IMPORT-STATE'],
  },
});
