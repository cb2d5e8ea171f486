/** Imports in the OpenAPI document. */
import { z } from 'zod';
import { itemsQuery, listQuery, reportQuery, resumeBody } from '../imports/http/queries.ts';
import { importQuery } from '../imports/options.ts';
import {
  exampleAccepted,
  exampleBody,
  exampleBodyLines,
  exampleCsv,
  exampleEvent,
  exampleLines,
  exampleProgress,
  exampleResult,
  exampleUser,
} from './import-examples.ts';
import {
  accepted,
  bulkAnswerHeaders,
  bulkHeaders,
  duration,
  importBody,
  item,
  itemState,
  keyHeaders,
  progress,
  result,
  shownUser,
  warnings,
} from './import-shapes.ts';
import type { Operations } from './operation.ts';
import { details, exampleDetails } from './shapes.ts';

const ofLines = { timeout: duration().optional().meta({ description: 'Of a body of lines, and required there.' }) };
const importLines = {
  schema: z
    .string()
    .meta({ description: 'A line is `{"orgId", "userId", "state", "user"}`, in any order of organizations.' }),
  example: exampleBodyLines,
};
const KEY_REUSED = 'IMPORT-KEY-REUSED: the key stands for another request.';
const STATE_DOES_NOT_FIT = 'The import is in a state that this does not fit.';
const RUN_AGAIN = `IMPORT-TIMEOUT: bad or missing timeout. IMPORT-ERASED: the data of who is left is gone. ${STATE_DOES_NOT_FIT}`;
const newTimeout = {
  schema: resumeBody.extend({ timeout: duration().optional() }),
  examples: { 'half an hour': { timeout: '30m0s' } },
};
/** Entries come back as they were sent, with whatever is wrong with them. */
const mendable = z.object({
  dataOrgs: z.object({ orgs: z.array(z.object({ orgId: z.string(), humanUsers: z.array(z.unknown()) })) }),
  timeout: z.string(),
});
const isDone = { 200: { schema: result, example: exampleResult, description: 'The result in its new state.' } };

export const importOperations: Operations = {
  'POST /management/v1/users/human/_import': {
    id: 'importHumanUser',
    summary: 'Import a human user',
    description:
      'Answers when the user is written, or after the timeout of the service. A mail is sent when the address is not ' +
      'marked as verified or no password is set, and never otherwise.',
    onOrg: true,
    headers: keyHeaders,
    body: { schema: shownUser, examples: { 'with a hash': exampleUser } },
    answers: {
      200: {
        schema: z.object({ userId: z.string(), details, warnings: warnings.optional() }),
        example: { userId: 'auth0|60425dc4', details: exampleDetails },
        description: 'The user exists and can log in.',
      },
    },
    errors: {
      404: 'ORG-NOT-FOUND: the organization does not exist.',
      409: `USER-ID-TAKEN, USER-NAME-TAKEN: another user has it. ${KEY_REUSED}`,
      504: 'IMPORT-TIMEOUT: the user was not imported in time, and will not be.',
    },
  },
  'POST /admin/v1/import': {
    id: 'importUsers',
    summary: 'Import many human users',
    description:
      'Acceptance is all or nothing; an invalid user is a failed item and does not keep the others. The body may be gzipped. The caller ' +
      'needs the role on every organization of the body. `dryRun` answers the whole report and writes nobody. The message to ' +
      '`webhook` is the ImportProgress with `type` import.ended and `timestamp`, signed as Standard Webhooks describes. As NDJSON a line is one user with its `orgId`, and the timeout stands in the query.',
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
        description: 'It is over already, as `Prefer: wait` asked for.',
        headers: bulkAnswerHeaders,
      },
      202: {
        schema: accepted,
        example: exampleAccepted,
        description: 'Every user of the body is durable.',
        headers: bulkAnswerHeaders,
      },
    },
    errors: {
      400: 'The first fatal problem of the body, in its order: IMPORT-BODY, IMPORT-JSON, IMPORT-DEPTH, IMPORT-ENTRY-SIZE, IMPORT-DUPLICATE-KEY, IMPORT-TIMEOUT, IMPORT-GZIP; or IMPORT-QUERY, IMPORT-KEY, IMPORT-WEBHOOK-SECRET: the organization that signs has no webhook secret.',
      404: 'IMPORT-ORG: an organization does not exist.',
      409: `IMPORT-ABORTED: the upload stood still for too long; nothing of it was kept. ${KEY_REUSED}`,
      413: 'IMPORT-BYTES: the body is too large, or inflates too far.',
      415: 'HTTP-MEDIA-TYPE, HTTP-ENCODING: the body is neither JSON nor NDJSON, or is compressed in another way than gzip.',
      429: 'IMPORT-BACKLOG: too many users wait to be imported. RATE-LIMIT. `Retry-After` says when to go on.',
    },
  },
  'GET /admin/v1/imports': {
    id: 'listImports',
    summary: 'List imports, the newest first',
    query: listQuery,
    answers: {
      200: {
        schema: z.object({ imports: z.array(progress), nextPageToken: z.string().optional() }),
        example: { imports: [exampleProgress] },
      },
    },
  },
  'GET /admin/v1/imports/{importId}': { id: 'getImport', summary: 'Get the result of an import', answers: isDone },
  'GET /admin/v1/imports/{importId}/items': {
    id: 'listImportItems',
    summary: 'List the users of an import',
    description: 'In the order of the body.',
    query: itemsQuery.extend({ state: itemState.optional() }),
    answers: {
      200: {
        schema: z.object({ items: z.array(item), nextPageToken: z.string().optional() }),
        example: {
          items: [
            { index: 0, orgId: 'acme', userId: 'auth0|60425dc4', userName: 'fay.fox', state: 'ITEM_STATE_SUCCEEDED' },
          ],
        },
      },
    },
  },
  'GET /admin/v1/imports/{importId}/events': {
    id: 'streamImportEvents',
    summary: 'Follow an import',
    description:
      'Server-Sent Events: ImportProgress on each change, at most four a second. The stream ends with the import.',
    answers: { 200: { schema: z.string(), example: exampleEvent, mediaType: 'text/event-stream' } },
  },
  'GET /admin/v1/imports/{importId}/report': {
    id: 'getImportReport',
    summary: 'Download all users of an import',
    description:
      '`ndjson`: a line each, as `items` shows them. `csv`: one record each; a cell that a spreadsheet would compute begins ' +
      'with an apostrophe. `dataorgs`: a body to mend and send again, of the users who are left; a plain password stands ' +
      'in it as a hash made from it, any other secret has to be given again.',
    query: reportQuery.extend({ state: itemState.optional() }),
    answers: {
      200: {
        schema: z.string(),
        example: exampleLines,
        mediaType: 'application/x-ndjson',
        headers: z.object({ 'Content-Disposition': z.string() }),
        others: {
          'text/csv': { schema: z.string(), example: exampleCsv },
          'application/json': { schema: mendable, example: exampleBody },
        },
      },
    },
  },
  'POST /admin/v1/imports/{importId}/_cancel': {
    id: 'cancelImport',
    summary: 'Cancel an import',
    description: 'No user of it is written after the answer. Twice is as once.',
    answers: isDone,
    errors: { 400: STATE_DOES_NOT_FIT },
  },
  'POST /admin/v1/imports/{importId}/_pause': {
    id: 'pauseImport',
    summary: 'Pause an import',
    description: 'No user of it is written after the answer, and its clock stands until `_resume`. Twice is as once.',
    answers: isDone,
    errors: { 400: STATE_DOES_NOT_FIT },
  },
  'POST /admin/v1/imports/{importId}/_resume': {
    id: 'resumeImport',
    summary: 'Go on with a paused, timed-out or cancelled import',
    description: 'Exactly the users that are left are imported. The timeout is needed when the deadline has passed.',
    body: newTimeout,
    answers: isDone,
    errors: { 400: RUN_AGAIN },
  },
  'POST /admin/v1/imports/{importId}/_retry': {
    id: 'retryImport',
    summary: 'Try failed users again',
    description:
      'Those who failed at the database, for a conflict or a refusal; an entry that was invalid stays failed. Who is pending ' +
      'besides goes on with them. The timeout is needed when the deadline has passed. Twice is as once.',
    body: newTimeout,
    answers: isDone,
    errors: { 400: RUN_AGAIN },
  },
  'POST /admin/v1/imports/{importId}/_send_mails': {
    id: 'sendImportMails',
    summary: 'Send the mails of an import that held them',
    description:
      'Of an import with `mails=none`: to users who still need one; those who are still to be written get theirs as they ' +
      'come. When none are held nothing changes. Twice is as once.',
    answers: isDone,
    errors: { 400: `IMPORT-DRY-RUN: a dry run has none. ${STATE_DOES_NOT_FIT}` },
  },
  'POST /admin/v1/imports/{importId}/_undo': {
    id: 'undoImport',
    summary: 'Undo an import that does not run',
    description:
      'Removes exactly the users that it created and who have neither signed in nor been changed since. The others stay ' +
      'ITEM_STATE_SUCCEEDED with the reason in `kept`. Goes on by itself after the answer. Twice is as once.',
    answers: isDone,
    errors: { 400: STATE_DOES_NOT_FIT },
  },
};
