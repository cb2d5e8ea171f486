/**
 * What users sign in with: email addresses, phone numbers, passwords and the second factor, and the operations on them.
 *
 * An address or a number and the way to verify it have one shape in all operations. At most one of `isVerified`,
 * `sendCode` and `returnCode` may be set; the default if none is set depends on the operation.
 */
import { z } from 'zod';
import { LONGEST_TEXT, readTotpKey, totpText } from '../passwords/totp-secret.ts';
import { bool, emailAddress, notWith, requiredText } from '../platform/fields.ts';
import { mobileNumber } from '../platform/phone.ts';
import { urlTemplateProblem } from './link-templates.ts';
import { operations } from './operation.ts';
import { MANAGER_OR_SELF } from './roles.ts';
import {
  changed,
  currentPassword,
  details,
  endSessions,
  exampleDetails,
  mailedCode,
  OWNER_PROOF,
  ownerProof,
  proofBody,
} from './shapes.ts';

/** A caller's URL template for the link in an email, of 1 to 200 code points. */
export function urlTemplate() {
  return requiredText(200)
    .superRefine((template, ctx) => {
      const problem = template === '' ? undefined : urlTemplateProblem(template);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ examples: ['https://app.example.com/verify?userId={{.UserID}}&code={{.Code}}'] });
}

/** `sendCode` of an email address. */
const mailCode = z.object({ urlTemplate: urlTemplate().optional() }).optional();
/** `sendCode` of a phone number, and `returnCode` of both. */
const plainCode = z.object({}).optional();

export const emailInput = z
  .object({ email: emailAddress(), isVerified: bool().optional(), sendCode: mailCode, returnCode: plainCode })
  .check(notWith('sendCode', 'isVerified'))
  .check(notWith('returnCode', 'isVerified'))
  .check(notWith('returnCode', 'sendCode'));

/** A number of up to 200 characters, which is stored as E.164. */
export const phoneInput = z
  .object({ phone: mobileNumber(200), isVerified: bool().optional(), sendCode: plainCode, returnCode: plainCode })
  .check(notWith('sendCode', 'isVerified'))
  .check(notWith('returnCode', 'isVerified'))
  .check(notWith('returnCode', 'sendCode'));

/** A change of the user's own address or number, which the user proves with `currentPassword`. */
export const emailChange = emailInput.safeExtend({ currentPassword: currentPassword(), mailedCode: mailedCode() });
export const phoneChange = phoneInput.safeExtend({ currentPassword: currentPassword(), mailedCode: mailedCode() });

export const emailResend = z
  .object({ sendCode: mailCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const phoneResend = z
  .object({ sendCode: plainCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const codeBody = z.object({ verificationCode: requiredText(200) });

export type EmailInput = z.output<typeof emailInput>;
export type PhoneInput = z.output<typeof phoneInput>;

export const passwordBody = z
  .object({
    newPassword: z.object({ password: requiredText(200), changeRequired: bool().default(false) }),
    currentPassword: currentPassword(),
    mailedCode: mailedCode(),
    endSessions: endSessions(),
    verificationCode: requiredText(200).optional(),
  })
  .check(notWith('verificationCode', 'currentPassword'));

/** Text messages are for phone numbers only. */
const notificationType = z.enum(['NOTIFICATION_TYPE_Email'], 'must be NOTIFICATION_TYPE_Email').optional();

/** The default is `sendLink`. */
export const passwordResetBody = z
  .object({
    sendLink: z.object({ urlTemplate: urlTemplate().optional(), notificationType }).optional(),
    returnCode: z.object({}).optional(),
  })
  .check(notWith('returnCode', 'sendLink'));

export type PasswordResetInput = z.output<typeof passwordResetBody>;

/** A code of an authenticator app, as users type it; the check decides whether it is valid. */
export function totpCode() {
  return requiredText(50);
}

export const verifyTotpBody = z.object({ code: totpCode(), endSessions: endSessions() });

/** An app is called what its user calls it. */
const addTotpBody = ownerProof.extend({
  name: requiredText(100)
    .optional()
    .meta({ description: 'What the user calls the app.', examples: ['Phone'] }),
  endSessions: endSessions(),
});

export const removeTotpBody = ownerProof.extend({ endSessions: endSessions() });

/** A secret from another program, converted to the text that `totpText` makes; an empty text means none. */
export function importedTotpSecret() {
  return z
    .string('must be a string')
    .meta({
      description: 'Base32 as people copy it into an authenticator app, or the otpauth://totp/ address of its QR code.',
      maxLength: LONGEST_TEXT,
      examples: ['JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP'],
    })
    .transform((text, ctx) => {
      if (text === '') return undefined;
      const read = readTotpKey(text);
      if ('secret' in read) return totpText(read);
      ctx.addIssue({ code: 'custom', message: read.problem });
      return z.NEVER;
    });
}

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
const PENDING =
  'A new value that users set themselves replaces a verified one only when its code is used; the old address is told.';
const aCode = { schema: codeBody, examples: { 'a code': { verificationCode: 'K7XM4Q' } } };
const VOUCHING = 'Users who call this for themselves cannot use `isVerified: true`, `returnCode` or `urlTemplate`.';

export const credentialOperations = operations({
  setEmail: {
    path: 'POST /v2beta/users/{userId}/email',
    rpc: 'zitadel.user.v2.UserService/SetEmail',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Set the email address',
    description: `Sends a verification email unless the address is verified or the body has \`returnCode\`. ${PENDING} ${VOUCHING} ${OWNER_PROOF}`,
    body: {
      schema: emailChange,
      error: 'EMAIL-INVALID',
      examples: {
        verified: { email: 'bob@acme.example', isVerified: true },
        'code returned': { email: 'bob.burns@acme.example', returnCode: {} },
      },
    },
    answers: withCode,
    errors: [
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'EMAIL-NOT-HUMAN',
      'AUTH-SIGN-IN-AGAIN',
      'URL-TEMPLATE-NOT-ALLOWED',
      'MAIL-LIMIT',
      'SESSION-FAILURES',
    ],
  },
  resendEmailCode: {
    path: 'POST /v2beta/users/{userId}/email/resend',
    rpc: 'zitadel.user.v2.UserService/ResendEmailCode',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Resend the verification code for the email address',
    body: { schema: emailResend, error: 'EMAIL-INVALID', examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: ['EMAIL-VERIFIED', 'EMAIL-NONE', 'EMAIL-NOT-HUMAN', 'URL-TEMPLATE-NOT-ALLOWED', 'MAIL-LIMIT'],
  },
  verifyEmail: {
    path: 'POST /v2beta/users/{userId}/email/verify',
    rpc: 'zitadel.user.v2.UserService/VerifyEmail',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Verify the email address',
    body: { ...aCode, error: 'EMAIL-VERIFY' },
    answers: { 200: changed },
    errors: ['CODE-INVALID'],
  },
  setPhone: {
    path: 'POST /v2beta/users/{userId}/phone',
    rpc: 'zitadel.user.v2.UserService/SetPhone',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Set the phone number',
    description: `Sends a code by text message unless the number is verified or the body has \`returnCode\`. ${PENDING} ${VOUCHING} ${OWNER_PROOF}`,
    body: {
      schema: phoneChange,
      error: 'PHONE-INVALID',
      examples: {
        verified: { phone: '+41 79 123 45 67', isVerified: true },
        'code returned': { phone: '+41 79 123 45 68', returnCode: {} },
      },
    },
    answers: withCode,
    errors: [
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'PHONE-NOT-HUMAN',
      'AUTH-SIGN-IN-AGAIN',
      'MAIL-LIMIT',
      'SESSION-FAILURES',
    ],
  },
  resendPhoneCode: {
    path: 'POST /v2beta/users/{userId}/phone/resend',
    rpc: 'zitadel.user.v2.UserService/ResendPhoneCode',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Resend the verification code for the phone number',
    body: { schema: phoneResend, error: 'PHONE-INVALID', examples: { 'code returned': { returnCode: {} } } },
    answers: withCode,
    errors: ['PHONE-VERIFIED', 'PHONE-NOT-HUMAN', 'PHONE-NOT-FOUND', 'MAIL-LIMIT'],
  },
  verifyPhone: {
    path: 'POST /v2beta/users/{userId}/phone/verify',
    rpc: 'zitadel.user.v2.UserService/VerifyPhone',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Verify the phone number',
    body: { ...aCode, error: 'PHONE-VERIFY' },
    answers: { 200: changed },
    errors: ['CODE-INVALID'],
  },
  removePhone: {
    path: 'DELETE /v2beta/users/{userId}/phone',
    rpc: 'zitadel.user.v2.UserService/RemovePhone',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove the phone number',
    description: `Users cannot remove the number with which alone they sign in. ${OWNER_PROOF}`,
    body: { ...proofBody, error: 'PHONE-INVALID' },
    answers: { 200: changed },
    errors: [
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'PHONE-NOT-HUMAN',
      'AUTH-SIGN-IN-AGAIN',
      'PHONE-NOT-FOUND',
      'LAST-WAY-IN',
      'SESSION-FAILURES',
    ],
  },
  setPassword: {
    path: 'POST /v2beta/users/{userId}/password',
    rpc: 'zitadel.user.v2.UserService/SetPassword',
    who: { ...MANAGER_OR_SELF, code: true },
    of: 'user',
    tries: 'always',
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
    errors: [
      'PASSWORD-INVALID',
      'PASSWORD-POLICY',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'PASSWORD-NOT-HUMAN',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  resetPassword: {
    path: 'POST /v2beta/users/{userId}/password_reset',
    rpc: 'zitadel.user.v2.UserService/PasswordReset',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Send or return a password reset code',
    description:
      'Sends a link to a verified address only. A user who has no password yet gets the initialisation email, which also ' +
      'verifies the address. A user who has a password but no verified address gets the email to verify the address.',
    body: {
      schema: passwordResetBody,
      error: 'PASSWORD-RESET-INVALID',
      examples: { 'link sent': { sendLink: {} }, 'code returned': { returnCode: {} } },
    },
    answers: withCode,
    errors: ['PASSWORD-RESET-INACTIVE', 'EMAIL-NONE', 'PASSWORD-NOT-HUMAN', 'URL-TEMPLATE-NOT-ALLOWED', 'MAIL-LIMIT'],
  },
});

export const totpOperations = operations({
  addTotp: {
    path: 'POST /v2beta/users/{userId}/totp',
    rpc: 'zitadel.user.v2.UserService/RegisterTOTP',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Start adding an authenticator app (TOTP)',
    description:
      'The secret is shown only once, in this response. Logins require a second factor once a code is verified. A user may ' +
      'have ten apps; a new one replaces one of which no code was verified yet. ' +
      OWNER_PROOF,
    body: { ...proofBody, schema: addTotpBody, error: 'TOTP-INVALID' },
    answers: {
      200: {
        schema: z.object({
          details,
          totpId: z.string(),
          uri: z.string().meta({ description: 'An `otpauth://` URI to show as a QR code.' }),
          secret: z.string().meta({ description: 'Base32.', pattern: '^[A-Z2-7]+$' }),
        }),
        example: {
          details: exampleDetails,
          totpId: '1',
          uri: 'otpauth://totp/Acme:bob%40acme.example?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
          secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        },
      },
    },
    errors: [
      'TOTP-NOT-HUMAN',
      'TOTP-LIMIT',
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'SESSION-FAILURES',
    ],
  },
  verifyTotp: {
    path: 'POST /v2beta/users/{userId}/totp/verify',
    rpc: 'zitadel.user.v2.UserService/VerifyTOTPRegistration',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'always',
    summary: 'Verify an authenticator app',
    body: { schema: verifyTotpBody, error: 'TOTP-VERIFY', examples: { 'a code': { code: '123456' } } },
    answers: { 200: changed },
    errors: ['TOTP-CODE', 'TOTP-ACTIVE', 'TOTP-NOT-FOUND'],
  },
  removeTotp: {
    path: 'DELETE /v2beta/users/{userId}/totp',
    rpc: 'zitadel.user.v2.UserService/RemoveTOTP',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove all authenticator apps',
    description: OWNER_PROOF,
    body: { ...proofBody, schema: removeTotpBody, error: 'TOTP-INVALID' },
    answers: { 200: changed },
    errors: [
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'TOTP-NOT-FOUND',
      'LAST-WAY-IN',
      'SESSION-FAILURES',
    ],
  },
  removeTotpApp: {
    path: 'DELETE /v2beta/users/{userId}/totp/{totpId}',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'Remove one authenticator app',
    description: OWNER_PROOF,
    body: { ...proofBody, schema: removeTotpBody, error: 'TOTP-INVALID' },
    answers: { 200: changed },
    errors: [
      'PASSWORD-CURRENT',
      'FACTOR-LOST',
      'CODE-INVALID',
      'AUTH-SIGN-IN-AGAIN',
      'TOTP-NOT-FOUND',
      'LAST-WAY-IN',
      'SESSION-FAILURES',
    ],
  },
});
