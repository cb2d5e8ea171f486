/** Schemas of the query strings of the lists and the report, and of the body of `_resume` and `_retry`. */
import { z } from 'zod';
import { text } from '../../fields/fields.ts';
import { ITEM_STATES } from '../item-states.ts';
import { FORMATS } from '../report/report.ts';

export const resumeBody = z.object({ timeout: z.string('must be a string').optional() });

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

export const listQuery = z.strictObject({ pageSize: pageSize(100).default(50), pageToken });
const itemState = z
  .string()
  .transform((s) => s.replace(/^ITEM_STATE_/, ''))
  .pipe(z.enum(ITEM_STATES, `must be one of ${ITEM_STATES.map((s) => `ITEM_STATE_${s}`).join(', ')}`));

export const itemsQuery = z.strictObject({
  state: itemState.optional(),
  orgId: text(200).optional(),
  userId: text(200).optional(),
  pageSize: pageSize(1000).default(100),
  pageToken,
});

export const reportQuery = z.strictObject({
  format: z.enum(FORMATS, `must be one of ${FORMATS.join(', ')}`).default('ndjson'),
  state: itemState.optional(),
});
