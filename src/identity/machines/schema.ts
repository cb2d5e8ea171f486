/** Request bodies of the key calls. */
import { z } from 'zod';
import { expirationDate } from '../../access/expiration-date.ts';

const KEY_TYPES = ['KEY_TYPE_JSON'] as const;

export const newKey = z.object({
  type: z.enum(KEY_TYPES, `must be one of ${KEY_TYPES.join(', ')}`).default('KEY_TYPE_JSON'),
  expirationDate: expirationDate().optional(),
});
