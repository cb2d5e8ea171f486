/** Drafts of imports in the OpenAPI document: imports that are prepared from uploaded files. */
import { z } from 'zod';
import { earlierImports, guess, mailsPreview, passwordTry } from './draft-results.ts';
import {
  exampleDraft,
  exampleEarlierImports,
  exampleGuess,
  exampleMailsPreview,
  exampleResult,
} from './import-examples.ts';
import {
  checkBody,
  convertBody,
  createBody,
  guessQuery,
  mailsPreviewQuery,
  startBody,
  tryPasswordBody,
} from './import-options.ts';
import { pepperHeaders, result } from './import-results.ts';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';

const tusHeader = { 'Tus-Resumable': z.string().optional().meta({ description: 'The version of tus: `1.0.0`.' }) };
const bytes = (description: string) => z.string().meta({ pattern: '^\\d+$', description });
const offset = { 'Upload-Offset': bytes('How many bytes of the file have arrived.') };

export const draftOperations = operations({
  createImport: {
    path: 'POST /admin/v1/imports',
    who: OWNER,
    of: 'body',
    summary: 'Prepare an import from files',
    description:
      'Creates a draft: an import in state IMPORT_STATE_UPLOADING. Upload its files, convert them, check the result, then ' +
      'start it. Until then no user is written. Only its creator sees it, and those who may import into all of its ' +
      'organizations. It is erased at `draft.expiresAt`.',
    body: { schema: createBody, error: 'IMPORT-DRAFT', examples: { 'of one organization': { orgId: 'acme' } } },
    answers: {
      201: {
        schema: result,
        example: exampleDraft,
        description: 'The draft.',
        headers: z.object({ Location: z.string().meta({ description: 'Path of the import.' }) }),
      },
    },
    errors: ['ORG-NOT-FOUND', 'IMPORT-DRAFTS', 'ORG-STATE'],
  },
  guessImport: {
    path: 'GET /admin/v1/imports/{importId}/guess',
    who: OWNER,
    of: 'import',
    summary: 'Recognize the files of a draft',
    description:
      'Reads the beginning of each file, also while the rest is being uploaded: the system that it comes from, and its ' +
      'columns with at most five examples each. A value that may be a hash or a secret is not returned: `hidden` names ' +
      'its scheme, or says `secret` or `digest`. `mapping` is what `_convert` would use.',
    query: guessQuery,
    queryError: 'IMPORT-QUERY',
    answers: { 200: { schema: guess, example: exampleGuess } },
    errors: ['DRAFT-UNREADABLE', 'IMPORT-STATE', 'DRAFT-GUESSES'],
  },
  convertImport: {
    path: 'POST /admin/v1/imports/{importId}/_convert',
    who: OWNER,
    of: 'import',
    summary: 'Convert the files of a draft to users',
    description:
      'A worker with the role `convert` reads the files; the state is IMPORT_STATE_CONVERTING until it is done, then ' +
      'IMPORT_STATE_DRAFT, or IMPORT_STATE_UNREADABLE with the reason in `draft.error`. The files are kept until the ' +
      'import starts: call it again for another source or mapping. A pepper stays until a later call sends another one.',
    headers: pepperHeaders,
    body: {
      schema: convertBody,
      error: 'DRAFT-OPTIONS',
      examples: {
        'as recognized': {},
        'columns by hand': { source: 'csv', mapping: { email: 'Mail', hash: 'Kennwort' } },
      },
    },
    answers: { 200: { schema: result, example: exampleDraft, description: 'The draft in its new state.' } },
    errors: ['DRAFT-INCOMPLETE', 'IMPORT-PEPPER', 'IMPORT-STATE', 'IMPORT-PASSWORD-SOURCE', 'ORG-NOT-FOUND'],
  },
  checkImport: {
    path: 'POST /admin/v1/imports/{importId}/_check',
    who: OWNER,
    of: 'import',
    summary: 'Check the users of a draft',
    description:
      'Judges every user as a dry run does, against the users who exist now: nothing is sent again and no user is ' +
      'written. `draft.check` names the dry run, whose result, items and report tell what would happen.',
    body: { schema: checkBody, error: 'DRAFT-CHECK', examples: { 'update existing users': { onExisting: 'update' } } },
    answers: { 200: { schema: result, example: exampleDraft, description: 'The draft in its new state.' } },
    errors: [
      'IMPORT-TIMEOUT',
      'DRAFT-ORG',
      'IMPORT-RIGHTS',
      'ORG-INACTIVE',
      'IMPORT-STATE',
      'ORG-NOT-FOUND',
      'IMPORT-BACKLOG',
      'IMPORT-RUNNING',
      'ORG-LIMIT-IMPORTS',
    ],
  },
  previewImportMails: {
    path: 'GET /admin/v1/imports/{importId}/mails_preview',
    who: OWNER,
    of: 'import',
    summary: 'Preview the mails of a draft',
    description:
      'Shows each mail that an import may send as a user of one organization gets it, who sends it, and how many mails ' +
      'each organization has. Asks DNS for the SPF record of the ' +
      'sender for at most two seconds; the answer counts for five minutes. Changes and sends nothing.',
    query: mailsPreviewQuery,
    queryError: 'IMPORT-QUERY',
    answers: { 200: { schema: mailsPreview, example: exampleMailsPreview } },
    errors: ['IMPORT-STATE'],
  },
  listEarlierImports: {
    path: 'GET /admin/v1/imports/{importId}/earlier',
    who: OWNER,
    of: 'import',
    summary: 'Find earlier imports of the same files',
    description:
      'The imports that were made from a file with the same bytes (SHA-256), as far as the caller may see them. Known ' +
      'when the files of the draft have been converted. Dry runs and imports that were undone do not count.',
    answers: { 200: { schema: earlierImports, example: exampleEarlierImports } },
    errors: ['IMPORT-STATE'],
  },
  tryImportPassword: {
    path: 'POST /admin/v1/imports/{importId}/_try_password',
    who: OWNER,
    of: 'import',
    tries: 'always',
    summary: 'Try the password of a user of a draft',
    description:
      'Compares a password with the hash of the user in the draft, in every form that a sign-in would try, with the pepper ' +
      'if there is one. Nothing is stored or logged, and no user is signed in. Reads the entries of the draft: about a second ' +
      'for a million users.',
    body: {
      schema: tryPasswordBody,
      error: 'DRAFT-TRY',
      examples: { 'by the address': { loginName: 'ann@acme.example', password: 'correct horse' } },
    },
    answers: { 200: { schema: passwordTry, example: { result: 'FITS' } } },
    errors: ['IMPORT-STATE', 'DRAFT-TRIES'],
  },
  startImport: {
    path: 'POST /admin/v1/imports/{importId}/_start',
    who: OWNER,
    of: 'import',
    summary: 'Start the import of a draft',
    description: 'The users of the draft are imported, under the id of the draft; its files are erased.',
    body: { schema: startBody, error: 'IMPORT-DRAFT', examples: { 'half an hour': { timeout: '30m0s' } } },
    answers: { 200: { schema: result, example: exampleResult, description: 'The running import.' } },
    errors: [
      'IMPORT-TIMEOUT',
      'DRAFT-ORG',
      'IMPORT-RIGHTS',
      'ORG-INACTIVE',
      'ORG-LIMIT-USERS',
      'ORG-LIMIT-USERS-PER-IMPORT',
      'IMPORT-STATE',
      'DRAFT-BROKEN',
      'IMPORT-WEBHOOK-SECRET',
      'ORG-NOT-FOUND',
      'IMPORT-BACKLOG',
      'IMPORT-RUNNING',
      'ORG-LIMIT-IMPORTS',
    ],
  },
  discardImport: {
    path: 'POST /admin/v1/imports/{importId}/_discard',
    who: OWNER,
    of: 'import',
    summary: 'Discard a draft',
    description: 'Its files and users are erased. Idempotent: repeating the call has no further effect.',
    answers: { 200: { schema: result, example: exampleDraft, description: 'The discarded draft.' } },
    errors: ['IMPORT-STATE'],
  },
  createImportFile: {
    path: 'POST /admin/v1/imports/{importId}/files',
    who: OWNER,
    of: 'import',
    summary: 'Add a file to a draft',
    description:
      'Begins an upload by tus 1.0 (https://tus.io/protocols/resumable-upload). `Location` of the answer is the path of ' +
      'the file: send its bytes there with PATCH. The users of the draft, if it has some, are dropped, as they were ' +
      'converted from other files.',
    headers: z.object({
      ...tusHeader,
      'Upload-Length': bytes('The size of the file in bytes.'),
      'Upload-Metadata': z
        .string()
        .optional()
        .meta({
          description:
            'Pairs of a name and a base64 value, separated by commas: `filename`, and `kind`: `users` (the default), ' +
            '`hashes` or `hash_parameters`.',
          examples: ['filename cGVvcGxlLmNzdg==,kind dXNlcnM='],
        }),
    }),
    answers: {
      201: {
        description: 'The file takes bytes.',
        headers: z.object({ Location: z.string().meta({ description: 'Path of the file.' }) }),
      },
    },
    errors: [
      'UPLOAD-HEADERS',
      'UPLOAD-VERSION',
      'UPLOAD-METADATA',
      'UPLOAD-FILES',
      'IMPORT-STATE',
      'REQUEST-TOO-LARGE',
      'UPLOAD-SPACE',
      'UPLOAD-REQUESTS',
    ],
  },
  getImportFile: {
    path: 'HEAD /admin/v1/imports/{importId}/files/{fileId}',
    who: OWNER,
    of: 'import',
    summary: 'Ask how much of a file has arrived',
    headers: z.object(tusHeader),
    answers: {
      200: {
        description: 'Continue the upload at `Upload-Offset`.',
        headers: z.object({ ...offset, 'Upload-Length': bytes('The size of the file.') }),
      },
    },
    errors: ['UPLOAD-NOT-FOUND', 'UPLOAD-VERSION', 'IMPORT-STATE'],
  },
  sendImportFile: {
    path: 'PATCH /admin/v1/imports/{importId}/files/{fileId}',
    who: OWNER,
    of: 'import',
    summary: 'Send bytes of a file',
    description:
      'The body is a part of the file from `Upload-Offset` on, as `application/offset+octet-stream`. Send at most 8 MiB ' +
      'in one request, so that little is lost when the connection breaks: what has arrived stays. A file that is no ' +
      'export, such as a picture, a PDF, a web page or JSON that was cut off, is refused and removed from the draft.',
    headers: z.object({
      ...tusHeader,
      'Upload-Offset': bytes('Where the body begins: the number of bytes that have arrived.'),
    }),
    answers: { 204: { description: 'The bytes are stored.', headers: z.object(offset) } },
    errors: [
      'UPLOAD-HEADERS',
      'UPLOAD-VERSION',
      'IMPORT-STATE',
      'UPLOAD-NOT-FOUND',
      'UPLOAD-NOT-EXPORT',
      'UPLOAD-OFFSET',
      'REQUEST-TOO-LARGE',
      'UPLOAD-REQUESTS',
    ],
  },
  removeImportFile: {
    path: 'DELETE /admin/v1/imports/{importId}/files/{fileId}',
    who: OWNER,
    of: 'import',
    summary: 'Remove a file from a draft',
    headers: z.object(tusHeader),
    answers: { 204: { description: 'The file is erased, and the users of the draft are dropped.' } },
    errors: ['IMPORT-STATE', 'UPLOAD-NOT-FOUND'],
  },
});
