/** What requests on imports may say: the bodies of actions and corrections, and the query strings of lists. */
import { z } from 'zod';
import { requiredText, text } from '../platform/fields.ts';
import { FORMATS } from './import-options.ts';
import { IMPORT_STATES, ITEM_STATES } from './import-results.ts';
import { REMEDIES } from './remedies.ts';
import { WAYS } from './sign-in.ts';

/** The body of actions without parameters. */
export const noBody = z.record(z.string(), z.never('is not supported here'));
/** The body of `_resume` and `_retry`. */
export const resumeBody = z.object({ timeout: z.string('must be a string').optional() });

/** The largest value of PostgreSQL's type of an item's index. */
const MOST_INDEX = 2 ** 31 - 1;

/** The body of `_fix`. */
export const fixBody = z.strictObject({
  cause: z
    .string()
    .regex(/^[0-9a-f]{8}$/, 'must be a cause of this import, as …/causes lists them')
    .meta({ description: 'A cause, as `…/causes` lists them.' }),
  remedy: z.enum(REMEDIES, `must be one of ${REMEDIES.join(', ')}`),
  domain: z
    .string()
    .max(200, 'must have at most 200 characters')
    .regex(/^[^\s@]+$/u, 'must be a domain such as example.com')
    .optional()
    .meta({ description: 'Required by `user-name-as-email`: the part of the addresses after the @.' }),
  dryRun: z.boolean('must be true or false').optional().meta({ description: 'Only says what it would do.' }),
  from: z
    .int('must be a whole number')
    .min(0, 'must be 0 or more')
    .max(MOST_INDEX, 'must be the index of an item')
    .optional()
    .meta({ description: 'Where to continue: `next` of the previous answer.' }),
});

/** The body of a correction: a JSON merge patch of an entry, whose fields the validator of imports checks. */
export const itemPatch = z.record(z.string(), z.unknown());

const PAGE_TOKEN = 'must be the nextPageToken of an earlier page of this list';
/** Empty, as after the last page, is the first page. */
const pageToken = z
  .string(PAGE_TOKEN)
  .regex(/^\d{0,18}$/, PAGE_TOKEN)
  .transform((token) => token || undefined)
  .optional();
const pageSize = (max: number) => {
  const message = `must be a whole number from 1 to ${max}`;
  return z.coerce.number(message).int(message).min(1, message).max(max, message);
};

const importStateQuery = z
  .string()
  .transform((s) => s.replace(/^IMPORT_STATE_/, ''))
  .pipe(z.enum(IMPORT_STATES, `must be one of ${IMPORT_STATES.map((s) => `IMPORT_STATE_${s}`).join(', ')}`));

export const listQuery = z.strictObject({
  state: importStateQuery.optional(),
  orgId: text(200).optional(),
  drafts: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description:
      'If true, only imports that have not started; if false, only those that have. Default: both. Discarded drafts are not listed.',
  }),
  dryRuns: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'If true, only dry runs, such as the checks of drafts; if false, none. Default: both.',
  }),
  counts: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: 'If true, the answer also says how many imports are in each state, whatever `state` asks for.',
  }),
  pageSize: pageSize(100).default(50),
  pageToken,
});

const itemStateQuery = z
  .string()
  .transform((s) => s.replace(/^ITEM_STATE_/, ''))
  .pipe(z.enum(ITEM_STATES, `must be one of ${ITEM_STATES.map((s) => `ITEM_STATE_${s}`).join(', ')}`));

export const itemsQuery = z.strictObject({
  state: itemStateQuery.optional(),
  orgId: text(200).optional(),
  userId: text(200).optional(),
  signIn: z
    .enum(WAYS, `must be one of ${WAYS.join(', ')}`)
    .optional()
    .meta({
      description: 'Only users who are predicted to sign in this way.',
    }),
  signedIn: z
    .enum(['true', 'false'], 'must be true or false')
    .optional()
    .meta({ description: 'Only imported users who have signed in since the import began, or who have not.' }),
  query: requiredText(200).optional().meta({ description: 'What the address, the user name or the id begins with.' }),
  pageSize: pageSize(1000).default(100),
  pageToken,
});

export const reportQuery = z.strictObject({
  format: z.enum(FORMATS, `must be one of ${FORMATS.join(', ')}`).default('ndjson'),
  state: itemStateQuery.optional(),
});
