/** Request bodies of the search and the export of audit events. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { plainAddress } from '../fields/address.ts';
import { requiredText } from '../fields/fields.ts';
import { AUDIT_TYPE_NAMES } from './types.ts';

export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;

const PAGE_TOKEN = 'must be the nextPageToken of an earlier page of this search';
const PAGE_SIZE = 'must be a whole number from 1 to 1000';
const ADDRESS = 'must be an IP address, or a network such as 192.0.2.0/24';
const TYPE = 'must be a type of audit event, such as user.signin.failed';

const time = () =>
  z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 timestamp' })
    .transform((text) => new Date(text))
    .refine((date) => Math.abs(date.getTime()) < 8e15, 'must be a year of four digits');

/** All conditions must hold. */
export const auditFilter = z.object({
  types: z.array(z.enum(AUDIT_TYPE_NAMES, TYPE)).min(1, 'must have at least one type').optional(),
  userId: requiredText(200).optional(),
  actorId: requiredText(200).optional(),
  orgId: requiredText(200).optional(),
  clientId: requiredText(200).optional(),
  address: z.string('must be a string').refine(isNetwork, ADDRESS).transform(plain).optional(),
  from: time().optional(),
  to: time().optional(),
  asc: z.boolean('must be true or false').default(false),
});
export type AuditFilter = z.output<typeof auditFilter>;

export const auditSearch = auditFilter.extend({
  pageSize: z.number(PAGE_SIZE).int(PAGE_SIZE).min(1, PAGE_SIZE).max(1000, PAGE_SIZE).default(100),
  pageToken: z
    .string(PAGE_TOKEN)
    .regex(/^\d{1,14}-\d{1,18}$/, PAGE_TOKEN)
    .optional(),
});

export const auditExport = auditFilter.extend({
  format: z.enum(EXPORT_FORMATS, `must be ${EXPORT_FORMATS.join(' or ')}`).default('ndjson'),
});

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** As events store it: IPv4 without the prefix of IPv6. */
function plain(text: string): string {
  return plainAddress(text) ?? text;
}
