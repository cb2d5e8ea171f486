/** Email addresses, phone numbers and passwords of users in the OpenAPI document. */
import { z } from 'zod';
import { codeBody, emailInput, emailResend, phoneInput, phoneResend } from '../accounts/contact-schema.ts';
import { passwordBody, passwordResetBody } from '../accounts/password-schema.ts';
import type { Operations } from './operation.ts';
import { changed, details, exampleDetails } from './shapes.ts';

/** A change, with a code when that was to be returned. */
const withCode = {
  200: {
    schema: z
      .object({ details, verificationCode: z.string().optional().meta({ description: 'When it was to be returned.' }) })
      .meta({ id: 'ChangedWithCode' }),
    example: { details: exampleDetails, verificationCode: 'K7XM4Q' },
  },
};
const NOT_HUMAN = 'EMAIL-NOT-HUMAN, PHONE-NOT-HUMAN, PASSWORD-NOT-HUMAN: only a human user has one.';
const WRONG_CODE = 'CODE-INVALID: the code is wrong, used or expired.';
const aCode = { schema: codeBody, examples: { 'a code': { verificationCode: 'K7XM4Q' } } };
const VOUCHING = 'Users may not say of themselves that it is verified, nor be told the code.';

export const credentialOperations: Operations = {
  'POST /v2beta/users/{userId}/email': {
    id: 'setEmail',
    summary: 'Set the email address',
    description: `A verification mail is sent unless the body says otherwise. ${VOUCHING}`,
    body: {
      schema: emailInput,
      examples: {
        verified: { email: 'bob@acme.example', isVerified: true },
        'code returned': { email: 'bob.burns@acme.example', returnCode: {} },
      },
    },
    answers: withCode,
    errors: { 400: NOT_HUMAN },
  },
  'POST /v2beta/users/{userId}/email/resend': {
    id: 'resendEmailCode',
    summary: 'Send the code for the email address again',
    body: { schema: emailResend, examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: { 400: `EMAIL-VERIFIED: it is verified already. ${NOT_HUMAN}` },
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
    description: `A code is sent unless the body says otherwise. ${VOUCHING}`,
    body: {
      schema: phoneInput,
      examples: {
        verified: { phone: '+41 79 123 45 67', isVerified: true },
        'code returned': { phone: '+41 79 123 45 68', returnCode: {} },
      },
    },
    answers: withCode,
    errors: { 400: NOT_HUMAN },
  },
  'POST /v2beta/users/{userId}/phone/resend': {
    id: 'resendPhoneCode',
    summary: 'Send the code for the phone number again',
    body: { schema: phoneResend, examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: { 400: `PHONE-VERIFIED: it is verified already. ${NOT_HUMAN}` },
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
    answers: { 200: changed },
    errors: { 400: NOT_HUMAN },
  },
  'POST /v2beta/users/{userId}/password': {
    id: 'setPassword',
    summary: 'Set the password',
    description:
      'With the current password, with a code of a mail (then without a bearer token too), or with neither by whoever manages the user.',
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
      400: `PASSWORD-INVALID: bad fields. PASSWORD-CURRENT: the current one is wrong. ${WRONG_CODE} ${NOT_HUMAN}`,
    },
  },
  'POST /v2beta/users/{userId}/password_reset': {
    id: 'resetPassword',
    summary: 'Send or return a code that sets a new password',
    body: {
      schema: passwordResetBody,
      examples: { 'link sent': { sendLink: {} }, 'code returned': { returnCode: {} } },
    },
    answers: withCode,
    errors: { 400: `PASSWORD-RESET-INACTIVE: the user is deactivated. ${NOT_HUMAN}` },
  },
};
