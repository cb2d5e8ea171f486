/** Requests of drafts that take memory or time: how many of them one process serves at the same time. */
import { openSlots } from '../../http/slots.ts';

/** Requests with bytes of files. Each takes some megabytes of memory. */
export const pieces = openSlots({
  perCaller: 8,
  perOrg: 16,
  total: 32,
  id: 'UPLOAD-REQUESTS',
  what: 'uploads of files',
});
