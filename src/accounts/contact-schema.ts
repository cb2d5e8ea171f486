/**
 * An email address or a phone number as it is set, and how it is to be verified: the same shape wherever one is set.
 *
 * At most one of `isVerified`, `sendCode` and `returnCode` says so; which of them counts when none is given is up to the
 * call that is made.
 */
import { z } from 'zod';
import { notWith } from '../fields/cross-fields.ts';
import { bool, emailAddress, requiredText } from '../fields/fields.ts';
import { mobileNumber } from '../fields/phone.ts';
import { urlTemplateProblem } from '../mail/links.ts';

/** A caller's link for a mail, of 1 to 200 code points. */
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

/** Up to 200 characters in user creation (interface.md, Limits); kept as E.164. */
export const phoneInput = z
  .object({ phone: mobileNumber(200), isVerified: bool().optional(), sendCode: plainCode, returnCode: plainCode })
  .check(notWith('sendCode', 'isVerified'))
  .check(notWith('returnCode', 'isVerified'))
  .check(notWith('returnCode', 'sendCode'));

export const emailResend = z
  .object({ sendCode: mailCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const phoneResend = z
  .object({ sendCode: plainCode, returnCode: plainCode })
  .check(notWith('returnCode', 'sendCode'));

export const codeBody = z.object({ verificationCode: requiredText(200) });

export type EmailInput = z.output<typeof emailInput>;
export type PhoneInput = z.output<typeof phoneInput>;
