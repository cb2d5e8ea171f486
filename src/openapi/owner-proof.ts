/** How users prove that an account is their own, in the descriptions of the operations that need it. */
import { ownerProof } from '../identity/login/owner-proof.ts';

export const OWNER_PROOF =
  'Users who call this for themselves must have signed in within the last 5 minutes (`auth_time` of the access token), ' +
  'or send `currentPassword`.';

export const SIGN_IN_AGAIN =
  'AUTH-TOKEN: the request has no valid bearer token. AUTH-SIGN-IN-AGAIN: the sign-in of the caller is too old for ' +
  'this change (RFC 9470). Authorize again with `max_age=300`, or send `currentPassword`.';

export const WRONG_PASSWORD = 'PASSWORD-CURRENT: the current password is wrong.';

/** The body of operations without other fields. */
export const proofBody = {
  schema: ownerProof,
  examples: { 'with the current password': { currentPassword: 'correct horse battery staple' } },
};
