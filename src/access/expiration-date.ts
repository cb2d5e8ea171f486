/** The expiration date of a token or a key. */
import { z } from 'zod';

/** RFC 3339 allows only years of four digits. */
const END_OF_TIME = Date.UTC(10_000, 0, 1);

/** RFC 3339 with any offset, in the future. */
export function expirationDate() {
  return z.iso
    .datetime({
      offset: true,
      error: (i) => (typeof i.input === 'string' ? 'must be an RFC 3339 timestamp' : 'must be a string'),
    })
    .transform((s) => new Date(s))
    .refine((date) => date.getTime() > Date.now(), 'must be in the future')
    .refine((date) => date.getTime() < END_OF_TIME, 'must be before the year 10000 in UTC');
}
