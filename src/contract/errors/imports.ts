/** Errors of imports, of drafts and their files, and of single users of an import. */
import type { KnownError } from '../../platform/errors.ts';
import { FIELDS, invalid } from './invalid.ts';

const WAIT = 'Wait for the number of seconds in `Retry-After`, then try again.';

export const IMPORT_ERRORS = {
  'IMPORT-ABORTED': {
    status: 'ABORTED',
    meaning:
      'The connection was closed before the import was accepted, or the upload stalled for too long. Nothing was imported.',
    remedy: 'Send the request again.',
  },
  'IMPORT-ACTION': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body has a field, but the operation takes none.',
    remedy: 'Send no body, or an empty object.',
  },
  'IMPORT-BACKLOG': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'Too many users of all organizations are waiting to be imported.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again. Operator: start more workers.',
  },
  'IMPORT-BODY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body does not have the form of an import. The error names the field.',
    remedy:
      'Correct the field that the error names. A user with invalid fields fails alone, and does not cause this error.',
  },
  'IMPORT-DEPTH': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body nests too many arrays and objects.',
    remedy: 'Nest at most 64.',
  },
  'IMPORT-DRAFT': invalid('new draft, or of the request to start it,'),
  'IMPORT-DRAFTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller or the organization has too many drafts.',
    remedy: 'Start or discard a draft.',
  },
  'IMPORT-DRY-RUN': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The import is a dry run: it wrote no users, sends no mails and keeps no entries.',
    remedy: 'Import the users without `dryRun`.',
  },
  'IMPORT-DUPLICATE-KEY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body gives a field twice.',
    remedy: 'Give the field that the error names once.',
  },
  'IMPORT-ENTRY-SIZE': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body has an entry that is too large.',
    remedy: 'Shorten the entry, such as its metadata. The message names the limit.',
  },
  'IMPORT-ERASED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The data of the users was erased at the end of the retention time.',
    remedy: 'Send the users in a new import.',
  },
  'IMPORT-FAILED': {
    status: 'INTERNAL',
    meaning: 'The user could not be imported, and no reason was recorded.',
    remedy: 'Give the operator the number of the import. Operator: search the log of the workers for the reason.',
  },
  'IMPORT-FIX': invalid('correction'),
  'IMPORT-FIXES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many corrections under way.',
    remedy: WAIT,
  },
  'IMPORT-FORMAT': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body has another format, which the message names.',
    remedy: 'Convert it to JSON or NDJSON, such as with `muster import --from`.',
  },
  'IMPORT-IAM-OWNER': {
    stored: 'user',
    status: 'FAILED_PRECONDITION',
    meaning: 'An import cannot lock or deactivate an IAM_OWNER.',
    remedy: 'Leave the user out. IAM_OWNER: remove the role of the user first.',
  },
  'IMPORT-ITEM-CHANGED': {
    status: 'ABORTED',
    meaning: 'The users of the import were changed while the correction was prepared.',
    remedy: 'Read the item or the causes again, and repeat the correction.',
  },
  'IMPORT-ITEM-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The import has no item with this index.',
    remedy: 'List the items of the import for their indexes.',
  },
  'IMPORT-ITEM-STATE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has not failed, so the entry cannot be corrected.',
    remedy: 'Change the user itself, if the user was imported.',
  },
  'IMPORT-KEY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The `Idempotency-Key` is invalid.',
    remedy: 'Send 1 to 255 printable ASCII characters, or leave the header out.',
  },
  'IMPORT-KEY-LOST': {
    stored: 'user',
    status: 'FAILED_PRECONDITION',
    meaning: 'The encryption key of the secrets of the user was lost before the user was written.',
    remedy: 'Send the user again.',
  },
  'IMPORT-KEY-REUSED': {
    status: 'ALREADY_EXISTS',
    meaning: 'The `Idempotency-Key` was used for a different request.',
    remedy: 'Use a new key for a new request, and the same key only to repeat a request.',
  },
  'IMPORT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The import does not exist.',
    remedy: 'List the imports for their ids. Imports are erased at the end of the retention time.',
  },
  'IMPORT-PASSWORD-SOURCE': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The password source of the users does not exist in their organization, or has ended.',
    remedy: 'List the password sources of the organization, or add one.',
  },
  'IMPORT-PATCH': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body is not an object with fields of an entry.',
    remedy: 'Send the fields that change, as a JSON object.',
  },
  'IMPORT-PEPPER': {
    status: 'INVALID_ARGUMENT',
    meaning: '`Password-Pepper` or its mode is invalid.',
    remedy: 'Correct the header that the error names.',
  },
  'IMPORT-MAILS-HELD': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The import holds its mails back, so that other mails to its users would wait as well.',
    remedy: 'Send the mails of the import first, with `_send_mails`.',
  },
  'IMPORT-PREVIEWS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many previews under way.',
    remedy: WAIT,
  },
  'IMPORT-QUERY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'A parameter of the query is invalid, or not supported here.',
    remedy: 'Correct or remove the parameters that the error names.',
  },
  'IMPORT-REMEDY': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The remedy does not apply to the cause.',
    remedy: 'Use one of the remedies that the message names.',
  },
  'IMPORT-RIGHTS': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'A caller who sent or changed a part of the import may not import into its organizations, or may no longer do so.',
    remedy: 'Send the users in a new import with the token of a caller who has the role.',
  },
  'IMPORT-RUNNING': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The organization of the caller has too many imports that have not ended.',
    remedy: 'Wait until an import has ended, or cancel one.',
  },
  'IMPORT-SINGLES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many single imports under way.',
    remedy: `${WAIT} Many users are faster in one bulk import.`,
  },
  'IMPORT-STATE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The state of the import does not allow this action.',
    remedy: 'Read the state of the import. The message names the states that allow it.',
  },
  'IMPORT-STREAMS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many event streams open.',
    remedy: 'Close streams that you do not need, or ask for the import from time to time.',
  },
  'IMPORT-TIMEOUT': {
    status: ['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED'],
    meaning: ['`timeout` is invalid or missing.', 'The user was not imported in time, and will not be imported later.'],
    remedy: ['Send a duration such as `30m0s`.', 'Send the request again.'],
  },
  'IMPORT-UPLOADS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many uploads under way.',
    remedy: WAIT,
  },
  'IMPORT-USER-FAULT': {
    stored: 'user',
    status: 'INTERNAL',
    meaning: 'An internal error prevented the user from being written.',
    remedy: 'Retry the import after the repair. Operator: repair what the log of the workers names.',
  },
  'IMPORT-USER-FIXED': {
    stored: 'user',
    status: 'FAILED_PRECONDITION',
    meaning: 'The entry was corrected, and is not imported yet.',
    remedy: 'Retry the import, or check the draft again.',
  },
  'IMPORT-USER-INVALID': {
    stored: 'user',
    status: 'INVALID_ARGUMENT',
    meaning: 'The user has invalid fields.',
    remedy: `${FIELDS} In an import, use \`_fix\` or PATCH the item.`,
  },
  'IMPORT-USER-REFUSED': {
    stored: 'user',
    status: 'INTERNAL',
    meaning: 'The database refused the user.',
    remedy: 'Correct the user with `_fix`, or leave it out. Operator: search the log of the workers for the reason.',
  },
  'IMPORT-WAITS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many requests that wait for the end of an import.',
    remedy: 'Leave `Prefer: wait` out, and ask for the import from time to time.',
  },
  'IMPORT-WEBHOOK-SECRET': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The organization that signs the webhook has no webhook secret.',
    remedy: 'Create one with `PUT /management/v1/orgs/me/webhook_secret`.',
  },
  'USER-ERASED': {
    stored: 'user',
    status: 'FAILED_PRECONDITION',
    meaning: 'The person was erased on request.',
    remedy: 'No action needed.',
  },
  'DRAFT-BROKEN': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Records of the files cannot be read, and `skipBroken` is not set.',
    remedy: 'Correct the files, or start the import with `skipBroken`.',
  },
  'DRAFT-CHECK': {
    stored: 'draft',
    status: ['INVALID_ARGUMENT', 'INTERNAL'],
    meaning: [invalid('check').meaning, 'The check could not be made because of an internal error.'],
    remedy: [FIELDS, 'Check the draft again. Operator: search the log of the workers for the reason.'],
  },
  'DRAFT-GUESSES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many guesses under way.',
    remedy: WAIT,
  },
  'DRAFT-TRIES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many passwords of drafts under way.',
    remedy: WAIT,
  },
  'DRAFT-TRY': invalid('password to try'),
  'DRAFT-INCOMPLETE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'A file of the draft has not arrived, or the draft has no file of users.',
    remedy: 'Send the rest of the files.',
  },
  'DRAFT-OPTIONS': {
    status: 'INVALID_ARGUMENT',
    meaning: 'A field of the conversion is missing or invalid, or does not fit the source. The error names each.',
    remedy: FIELDS,
  },
  'DRAFT-ORG': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Users of the draft name no organization.',
    remedy: 'Convert the draft again with an `orgId`.',
  },
  'DRAFT-UNREADABLE': {
    stored: 'draft',
    status: ['FAILED_PRECONDITION', 'INVALID_ARGUMENT', 'INTERNAL'],
    meaning: [
      'A file is not an export of a known system, or takes too long to be recognized.',
      'A file is not an export of the chosen source.',
      'The files could not be converted because of an internal error.',
    ],
    remedy: [
      'Name the source yourself, or send another file.',
      'Choose another source, or send another file.',
      'Convert the draft again after the repair. Operator: search the log of the workers for the reason.',
    ],
  },
  'UPLOAD-FILES': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The draft has too many files.',
    remedy: 'Join files, or remove files that are not needed.',
  },
  'UPLOAD-HEADERS': {
    status: ['INVALID_ARGUMENT', 'UNIMPLEMENTED'],
    meaning: [
      'A header of the tus protocol is missing or invalid.',
      'A header of the tus protocol asks for an extension that the service does not have.',
    ],
    remedy: 'Use a client of tus 1.0.0, with an `Upload-Length` at the creation.',
  },
  'UPLOAD-METADATA': {
    status: 'INVALID_ARGUMENT',
    meaning: '`Upload-Metadata` is invalid.',
    remedy: 'Correct the value that the error names.',
  },
  'UPLOAD-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The draft has no such file.',
    remedy: 'Create the file again.',
  },
  'UPLOAD-NOT-EXPORT': {
    status: 'INVALID_ARGUMENT',
    meaning:
      'The bytes of the file show that it is no export, or only a part of one. The draft has no such file any more.',
    remedy: 'Do what the message says, or export the users as JSON, NDJSON, CSV or LDIF, and add that file.',
  },
  'UPLOAD-OFFSET': {
    status: 'ABORTED',
    meaning: '`Upload-Offset` is not the number of bytes that have arrived.',
    remedy: 'Ask for the number with HEAD, and continue there.',
  },
  'UPLOAD-REQUESTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many uploads of files under way.',
    remedy: WAIT,
  },
  'UPLOAD-SPACE': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The files of all drafts of the organization are larger than the service allows.',
    remedy: 'Discard a draft that is not needed.',
  },
  'UPLOAD-VERSION': {
    status: 'FAILED_PRECONDITION',
    http: 412,
    meaning: '`Tus-Resumable` names another version than 1.0.0.',
    remedy: 'Use a client of tus 1.0.0.',
  },
} as const satisfies Record<string, KnownError>;
