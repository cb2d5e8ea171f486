/** Body of the session call. */
import { z } from 'zod';
import { requiredText } from '../../users/fields.ts';

const user = z
  .object({ loginName: requiredText(500).optional(), userId: requiredText(200).optional() })
  .refine((u) => (u.loginName === undefined) !== (u.userId === undefined), 'must hold either loginName or userId');

/** A password may be longer than a new one may be: an imported hash can be of any. */
export const newSession = z.object({
  checks: z.object({ user, password: z.object({ password: requiredText(1000) }) }),
});

export type SessionUser = z.output<typeof user>;
