/** Request bodies of the password calls. */
import { z } from 'zod';
import { notWith } from '../fields/cross-fields.ts';
import { bool, requiredText } from '../fields/fields.ts';
import { currentPassword, endSessions } from '../identity/login/owner-proof.ts';
import { urlTemplate } from './contact-schema.ts';

export const passwordBody = z
  .object({
    newPassword: z.object({ password: requiredText(200), changeRequired: bool().default(false) }),
    currentPassword: currentPassword(),
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
