/** What an item fails with when its user exists, or may not be changed. */
import { errorBody } from '../../errors.ts';

export const ERRORS = {
  idTaken: errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'A user with this userId exists already.'),
  nameTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-NAME-TAKEN',
    'A user with this user name exists in the organization already.',
  ),
  twice: errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user stands in this import already.'),
  mayDoMore: errorBody('PERMISSION_DENIED', 'AUTH-PERMISSION', 'The user may do more than the caller of the import.'),
  stopsOwner: errorBody(
    'FAILED_PRECONDITION',
    'IMPORT-IAM-OWNER',
    'An import neither locks nor deactivates an IAM_OWNER.',
  ),
} as const;
