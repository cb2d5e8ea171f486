/** Requests of drafts that take memory or time: how many of them one process serves at the same time. */
import { openSlots } from '../../http/slots.ts';

/** Each reads the beginning of the files, and tries some forty sources on it. */
export const guesses = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'DRAFT-GUESSES', what: 'guesses' });
/** Requests with bytes of files. Each takes some megabytes of memory. */
export const pieces = openSlots({
  perCaller: 8,
  perOrg: 16,
  total: 32,
  id: 'UPLOAD-REQUESTS',
  what: 'uploads of files',
});
