/** Request body of the session call. */
import { z } from 'zod';
import { requiredText } from '../../fields/fields.ts';
import type { LoginUser } from '../login/store.ts';
import { totpCode } from '../totp/schema.ts';

const user = z
  .object({ loginName: requiredText(500).optional(), userId: requiredText(200).optional() })
  .refine((u) => (u.loginName === undefined) !== (u.userId === undefined), 'must contain either loginName or userId')
  .transform(({ loginName = '', userId }): LoginUser => (userId === undefined ? { loginName } : { userId }))
  .meta({ minProperties: 1, maxProperties: 1 });

/** The password may be longer than a new one: an imported hash can be of a password of any length. */
export const newSession = z.object({
  checks: z.object({
    user,
    password: z.object({ password: requiredText(1000) }),
    totp: z.object({ code: totpCode() }).optional(),
  }),
});
