/** Request bodies of the personal access token calls. */
import { z } from 'zod';
import { expirationDate } from '../../access/expiration-date.ts';

export const newPat = z.object({ expirationDate: expirationDate().optional() });
