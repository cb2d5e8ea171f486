/** Email addresses, phone numbers and passwords of users in the OpenAPI document. */
import { z } from 'zod';
import { codeBody, emailChange, emailResend, phoneChange, phoneResend } from '../../accounts/contact-schema.ts';
import { passwordBody, passwordResetBody } from '../../accounts/password-schema.ts';
import type { Operations } from '../operation.ts';
import { OWNER_PROOF, proofBody, SIGN_IN_AGAIN, WRONG_PASSWORD } from '../owner-proof.ts';
import { changed, details, exampleDetails } from '../shapes.ts';

/** The response to a change; it contains the code if the request has `returnCode`. */
const withCode = {
  200: {
    schema: z
      .object({
        details,
        verificationCode: z.string().optional().meta({ description: 'Present if the request has `returnCode`.' }),
      })
      .meta({ id: 'ChangedWithCode' }),
    example: { details: exampleDetails, verificationCode: 'K7XM4Q' },
  },
};
const notHuman = (area: 'EMAIL' | 'PHONE' | 'PASSWORD') => `${area}-NOT-HUMAN: the user is not a human user.`;
const PENDING =
  'A new value that users set themselves replaces a verified one only when its code is used; the old address is told.';
const WRONG_CODE = 'CODE-INVALID: the code is wrong, already used or expired.';
const aCode = { schema: codeBody, examples: { 'a code': { verificationCode: 'K7XM4Q' } } };
const VOUCHING = 'Users who call this for themselves cannot use `isVerified: true`, `returnCode` or `urlTemplate`.';

export const credentialOperations: Operations = {
  'POST /v2beta/users/{userId}/email': {
    id: 'setEmail',
    summary: 'Set the email address',
    description: `Sends a verification email unless the address is verified or the body has \`returnCode\`. ${PENDING} ${VOUCHING} ${OWNER_PROOF}`,
    body: {
      schema: emailChange,
      examples: {
        verified: { email: 'bob@acme.example', isVerified: true },
        'code returned': { email: 'bob.burns@acme.example', returnCode: {} },
      },
    },
    answers: withCode,
    errors: { 400: `${WRONG_PASSWORD} ${notHuman('EMAIL')}`, 401: SIGN_IN_AGAIN },
  },
  'POST /v2beta/users/{userId}/email/resend': {
    id: 'resendEmailCode',
    summary: 'Resend the verification code for the email address',
    body: { schema: emailResend, examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: {
      400: `EMAIL-VERIFIED: the address is already verified. EMAIL-NONE: the user has no address. ${notHuman('EMAIL')}`,
    },
  },
  'POST /v2beta/users/{userId}/email/verify': {
    id: 'verifyEmail',
    summary: 'Verify the email address',
    body: aCode,
    answers: { 200: changed },
    errors: { 400: WRONG_CODE },
  },
  'POST /v2beta/users/{userId}/phone': {
    id: 'setPhone',
    summary: 'Set the phone number',
    description: `Sends a code by text message unless the number is verified or the body has \`returnCode\`. ${PENDING} ${VOUCHING} ${OWNER_PROOF}`,
    body: {
      schema: phoneChange,
      examples: {
        verified: { phone: '+41 79 123 45 67', isVerified: true },
        'code returned': { phone: '+41 79 123 45 68', returnCode: {} },
      },
    },
    answers: withCode,
    errors: { 400: `${WRONG_PASSWORD} ${notHuman('PHONE')}`, 401: SIGN_IN_AGAIN },
  },
  'POST /v2beta/users/{userId}/phone/resend': {
    id: 'resendPhoneCode',
    summary: 'Resend the verification code for the phone number',
    body: { schema: phoneResend, examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: { 400: `PHONE-VERIFIED: the number is already verified. ${notHuman('PHONE')}` },
  },
  'POST /v2beta/users/{userId}/phone/verify': {
    id: 'verifyPhone',
    summary: 'Verify the phone number',
    body: aCode,
    answers: { 200: changed },
    errors: { 400: WRONG_CODE },
  },
  'DELETE /v2beta/users/{userId}/phone': {
    id: 'removePhone',
    summary: 'Remove the phone number',
    description: OWNER_PROOF,
    body: proofBody,
    answers: { 200: changed },
    errors: { 400: `${WRONG_PASSWORD} ${notHuman('PHONE')}`, 401: SIGN_IN_AGAIN },
  },
  'POST /v2beta/users/{userId}/password': {
    id: 'setPassword',
    summary: 'Set the password',
    description:
      'Users set their own password with their current one. With a code from a password email, a caller needs ' +
      'neither the current password nor a bearer token. Callers with a required role set the password of another ' +
      'user without a current password or a code; for their own, they need a recent sign-in, the current password ' +
      'or a code.',
    body: {
      schema: passwordBody,
      examples: {
        'by a manager': { newPassword: { password: 'correct horse battery staple', changeRequired: false } },
        'with the current one': {
          newPassword: { password: 'correct horse battery staple' },
          currentPassword: 'correct horse battery staple',
        },
      },
    },
    answers: { 200: changed },
    errors: {
      400: `PASSWORD-INVALID: invalid fields. PASSWORD-POLICY: the new password breaks rules of the organization. ${WRONG_PASSWORD} ${WRONG_CODE} ${notHuman('PASSWORD')}`,
      401: SIGN_IN_AGAIN,
    },
  },
  'POST /v2beta/users/{userId}/password_reset': {
    id: 'resetPassword',
    summary: 'Send or return a password reset code',
    description:
      'Sends a link to a verified address only. A user who has no password yet gets the initialisation email, which also ' +
      'verifies the address. A user who has a password but no verified address gets the email to verify the address.',
    body: {
      schema: passwordResetBody,
      examples: { 'link sent': { sendLink: {} }, 'code returned': { returnCode: {} } },
    },
    answers: withCode,
    errors: {
      400: `PASSWORD-RESET-INACTIVE: the user is deactivated. EMAIL-NONE: the user has no address. ${notHuman('PASSWORD')}`,
    },
  },
};
