/** Query strings of the lists and the report, and the body of `_resume` and `_retry`. */
import { z } from 'zod';
import { text } from '../../fields/fields.ts';
import { ITEM_STATES } from '../item-states.ts';
import { FORMATS } from '../report/report.ts';

export const resumeBody = z.object({ timeout: z.string('must be a string').optional() });

const pageToken = z
  .string()
  .regex(/^\d{1,18}$/, 'is not a page token of this list')
  .optional();
const pageSize = (max: number) => z.coerce.number('must be a number').int('must be whole').min(1).max(max);

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
