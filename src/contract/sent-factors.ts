/** Codes by mail and by text message as a second factor of a user, and the operations on them. */
import { removeTotpBody } from './credentials.ts';
import { operations } from './operation.ts';
import { MANAGER_OR_SELF } from './roles.ts';
import { changed, OWNER_PROOF, proofBody } from './shapes.ts';

const BODY = { ...proofBody, schema: removeTotpBody, error: 'OTP-INVALID' } as const;
const PROOF_ERRORS = [
  'PASSWORD-CURRENT',
  'FACTOR-LOST',
  'CODE-INVALID',
  'AUTH-SIGN-IN-AGAIN',
  'SESSION-FAILURES',
] as const;
const FOR_ALL = 'Logins require the code from now on, or another second factor of the user.';

export const sentFactorOperations = operations({
  addOtpSms: {
    path: 'POST /v2beta/users/{userId}/otp_sms',
    rpc: 'zitadel.user.v2.UserService/AddOTPSMS',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Make codes by text message a second factor of a user',
    description: `The user needs a verified phone number, and the service a gateway (\`SMS_URL\`). ${FOR_ALL} ${OWNER_PROOF}`,
    body: { ...proofBody, reads: removeTotpBody, error: 'OTP-INVALID' },
    answers: { 200: changed },
    errors: [...PROOF_ERRORS, 'OTP-UNAVAILABLE', 'OTP-EXISTS', 'LAST-WAY-IN'],
  },
  removeOtpSms: {
    path: 'DELETE /v2beta/users/{userId}/otp_sms',
    rpc: 'zitadel.user.v2.UserService/RemoveOTPSMS',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove codes by text message as a second factor of a user',
    description: OWNER_PROOF,
    body: BODY,
    answers: { 200: changed },
    errors: [...PROOF_ERRORS, 'OTP-NOT-FOUND', 'LAST-WAY-IN'],
  },
  addOtpEmail: {
    path: 'POST /v2beta/users/{userId}/otp_email',
    rpc: 'zitadel.user.v2.UserService/AddOTPEmail',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Make codes by email a second factor of a user',
    description: `The user needs a verified email address. ${FOR_ALL} ${OWNER_PROOF}`,
    body: { ...proofBody, reads: removeTotpBody, error: 'OTP-INVALID' },
    answers: { 200: changed },
    errors: [...PROOF_ERRORS, 'OTP-UNAVAILABLE', 'OTP-EXISTS', 'LAST-WAY-IN'],
  },
  removeOtpEmail: {
    path: 'DELETE /v2beta/users/{userId}/otp_email',
    rpc: 'zitadel.user.v2.UserService/RemoveOTPEmail',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove codes by email as a second factor of a user',
    description: OWNER_PROOF,
    body: BODY,
    answers: { 200: changed },
    errors: [...PROOF_ERRORS, 'OTP-NOT-FOUND', 'LAST-WAY-IN'],
  },
});
