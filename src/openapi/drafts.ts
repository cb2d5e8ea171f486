/** Drafts of imports in the OpenAPI document: imports that are prepared from uploaded files. */
import { z } from 'zod';
import { createBody } from '../imports/draft/create.ts';
import { exampleDraft } from './import-examples.ts';
import { result } from './import-shapes.ts';
import type { Operations } from './operation.ts';

const STATE_DOES_NOT_FIT = 'IMPORT-STATE: the state of the import does not allow this.';
const RATE_LIMITED = 'RATE-LIMIT: too many requests. Wait for the number of seconds in `Retry-After`, then try again.';
const tusHeader = { 'Tus-Resumable': z.string().optional().meta({ description: 'The version of tus: `1.0.0`.' }) };
const bytes = (description: string) => z.string().meta({ pattern: '^\\d+$', description });
const offset = { 'Upload-Offset': bytes('How many bytes of the file have arrived.') };
const UNKNOWN = 'IMPORT-NOT-FOUND: the import does not exist. UPLOAD-NOT-FOUND: it has no such file.';

export const draftOperations: Operations = {
  'POST /admin/v1/imports': {
    id: 'createImport',
    summary: 'Prepare an import from files',
    description:
      'Creates a draft: an import in state IMPORT_STATE_UPLOADING. Upload its files, convert them, check the result, then ' +
      'start it. Until then no user is written. Only its creator sees it, and those who may import into all of its ' +
      'organizations. It is erased at `draft.expiresAt`.',
    body: { schema: createBody, examples: { 'of one organization': { orgId: 'acme' } } },
    answers: {
      201: {
        schema: result,
        example: exampleDraft,
        description: 'The draft.',
        headers: z.object({ Location: z.string().meta({ description: 'Path of the import.' }) }),
      },
    },
    errors: {
      404: 'ORG-NOT-FOUND: the organization does not exist.',
      429: `IMPORT-DRAFTS: you or your organization have too many drafts. ${RATE_LIMITED}`,
    },
  },
  'POST /admin/v1/imports/{importId}/_discard': {
    id: 'discardImport',
    summary: 'Discard a draft',
    description: 'Its files and users are erased. Idempotent: repeating the call has no further effect.',
    answers: { 200: { schema: result, example: exampleDraft, description: 'The discarded draft.' } },
    errors: { 400: STATE_DOES_NOT_FIT },
  },
  'POST /admin/v1/imports/{importId}/files': {
    id: 'createImportFile',
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
    errors: {
      400: `UPLOAD-HEADERS: a header is missing or invalid. UPLOAD-METADATA: \`Upload-Metadata\` is invalid. UPLOAD-FILES: the draft has too many files. ${STATE_DOES_NOT_FIT}`,
      413: 'REQUEST-TOO-LARGE: the files of the draft are too large.',
      429: `UPLOAD-SPACE: the drafts of the organization are too large. UPLOAD-REQUESTS: too many uploads are under way. ${RATE_LIMITED}`,
    },
  },
  'HEAD /admin/v1/imports/{importId}/files/{fileId}': {
    id: 'getImportFile',
    summary: 'Ask how much of a file has arrived',
    headers: z.object(tusHeader),
    answers: {
      200: {
        description: 'Continue the upload at `Upload-Offset`.',
        headers: z.object({ ...offset, 'Upload-Length': bytes('The size of the file.') }),
      },
    },
    errors: { 404: UNKNOWN },
  },
  'PATCH /admin/v1/imports/{importId}/files/{fileId}': {
    id: 'sendImportFile',
    summary: 'Send bytes of a file',
    description:
      'The body is a part of the file from `Upload-Offset` on, as `application/offset+octet-stream`. Send at most 8 MiB ' +
      'in one request, so that little is lost when the connection breaks: what has arrived stays.',
    headers: z.object({
      ...tusHeader,
      'Upload-Offset': bytes('Where the body begins: the number of bytes that have arrived.'),
    }),
    answers: { 204: { description: 'The bytes are stored.', headers: z.object(offset) } },
    errors: {
      400: `UPLOAD-HEADERS: a header is missing or invalid. ${STATE_DOES_NOT_FIT}`,
      404: UNKNOWN,
      409: 'UPLOAD-OFFSET: the file ends elsewhere. Ask for its end with HEAD.',
      413: 'REQUEST-TOO-LARGE: the body exceeds the size of the file.',
      429: `UPLOAD-REQUESTS: too many uploads are under way. ${RATE_LIMITED}`,
    },
  },
  'DELETE /admin/v1/imports/{importId}/files/{fileId}': {
    id: 'removeImportFile',
    summary: 'Remove a file from a draft',
    headers: z.object(tusHeader),
    answers: { 204: { description: 'The file is erased, and the users of the draft are dropped.' } },
    errors: { 400: STATE_DOES_NOT_FIT, 404: UNKNOWN },
  },
};
