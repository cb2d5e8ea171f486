/** Request body of the session call. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { requiredText } from '../../fields/fields.ts';
import type { LoginUser } from '../login/store.ts';
import { totpCode } from '../totp/schema.ts';

const user = z
  .object({ loginName: requiredText(500).optional(), userId: requiredText(200).optional() })
  .refine((u) => (u.loginName === undefined) !== (u.userId === undefined), 'must contain either loginName or userId')
  .transform(({ loginName = '', userId }): LoginUser => (userId === undefined ? { loginName } : { userId }))
  .meta({ minProperties: 1, maxProperties: 1 });

/** What the caller knows about the person's device. */
const userAgent = z.object({
  ip: z
    .string()
    .refine((ip) => isIP(ip) !== 0, 'must be an IP address such as 203.0.113.7')
    .meta({
      examples: ['203.0.113.7'],
      description:
        'The IP address of the person. Failed attempts are counted by it; without it, by that of the caller.',
    })
    .optional(),
});

/** The password may be longer than a new one: an imported hash can be of a password of any length. */
export const newSession = z.object({
  checks: z.object({
    user,
    password: z.object({ password: requiredText(1000) }),
    totp: z.object({ code: totpCode() }).optional(),
  }),
  userAgent: userAgent.optional(),
});

export type Checks = z.infer<typeof newSession>['checks'];
