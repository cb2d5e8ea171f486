/**
 * The input for an email address or a phone number and how to verify it: the same shape in every call.
 *
 * At most one of `isVerified`, `sendCode` and `returnCode` may be set; the default if none is set depends on the call.
 */
import { z } from 'zod';
import { notWith } from '../fields/cross-fields.ts';
import { bool, emailAddress, requiredText } from '../fields/fields.ts';
import { mobileNumber } from '../fields/phone.ts';
import { currentPassword } from '../identity/login/owner-proof.ts';
import { urlTemplateProblem } from '../mail/links.ts';

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

/** Up to 200 characters in user creation; stored as E.164. */
export const phoneInput = z
  .object({ phone: mobileNumber(200), isVerified: bool().optional(), sendCode: plainCode, returnCode: plainCode })
  .check(notWith('sendCode', 'isVerified'))
  .check(notWith('returnCode', 'isVerified'))
  .check(notWith('returnCode', 'sendCode'));

/** A change of the user's address or number, which users prove to be their own with their password. */
export const emailChange = emailInput.safeExtend({ currentPassword: currentPassword() });
export const phoneChange = phoneInput.safeExtend({ currentPassword: currentPassword() });

export const emailResend = z
  .object({ sendCode: mailCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const phoneResend = z
  .object({ sendCode: plainCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const codeBody = z.object({ verificationCode: requiredText(200) });

export type EmailInput = z.output<typeof emailInput>;
export type PhoneInput = z.output<typeof phoneInput>;
