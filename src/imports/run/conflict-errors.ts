/** The errors of an item whose user already exists, or must not be changed. */
import { errorBody } from '../../errors.ts';

export const ERRORS = {
  idTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-ID-TAKEN',
    'A user with this userId already exists, or existed in another organization.',
  ),
  nameTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-NAME-TAKEN',
    'A user with this user name already exists in the organization.',
  ),
  twice: errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'This user appears earlier in this import.'),
  mayDoMore: errorBody('PERMISSION_DENIED', 'AUTH-PERMISSION', 'The caller is not allowed to modify this user.'),
  stopsOwner: errorBody('FAILED_PRECONDITION', 'IMPORT-IAM-OWNER', 'An import cannot lock or deactivate an IAM_OWNER.'),
} as const;
