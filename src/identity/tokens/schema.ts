/** Bodies of the personal access token calls. */
import { z } from 'zod';

/** RFC 3339 with any offset, in the future. */
const expirationDate = z.iso
  .datetime({
    offset: true,
    error: (i) => (typeof i.input === 'string' ? 'must be an RFC 3339 timestamp' : 'must be a string'),
  })
  .transform((s) => new Date(s))
  .refine((date) => date.getTime() > Date.now(), 'must be in the future');

export const newPat = z.object({ expirationDate: expirationDate.optional() });
