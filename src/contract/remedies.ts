/** The corrections that fix all users of a cause. In a file without zod, which the command line need not load. */

export const REMEDIES = [
  'trim-email',
  'drop-hash',
  'email-as-user-name',
  'user-name-as-email',
  'shorten-name',
  'keep-first',
  'leave-out',
] as const;
export type Remedy = (typeof REMEDIES)[number];
