/** Requests of imports that may take long: how many of them one process serves at the same time. */
import { openSlots } from '../../http/slots.ts';

/** Each takes up to some megabytes of memory. */
export const uploads = openSlots({ perCaller: 16, perOrg: 32, total: 64, id: 'IMPORT-UPLOADS', what: 'uploads' });
/** Each reads its import from the database twice a second. */
export const waits = openSlots({
  ...{ perCaller: 64, perOrg: 128, total: 512, id: 'IMPORT-WAITS' },
  what: 'requests that wait for the end of an import',
});
/** Imports of one user, each of which waits until the user is written. */
export const singles = openSlots({
  ...{ perCaller: 1000, perOrg: 1000, total: 4000, id: 'IMPORT-SINGLES' },
  what: 'imports of one user',
});
/** Each takes some tens of kilobytes of memory. */
export const streams = openSlots({
  ...{ perCaller: 2500, perOrg: 2500, total: 10_000, id: 'IMPORT-STREAMS' },
  what: 'event streams',
});
/** Each corrects entries for some seconds at most. */
export const fixes = openSlots({ ...{ perCaller: 2, perOrg: 4, total: 8, id: 'IMPORT-FIXES' }, what: 'corrections' });
/** Each reads all users of an import, which takes seconds for a million. */
export const previews = openSlots({
  ...{ perCaller: 2, perOrg: 4, total: 8, id: 'IMPORT-PREVIEWS' },
  what: 'previews of an undo',
});
