/** Audit events in the OpenAPI document. */
import { z } from 'zod';
import { auditExport, auditSearch } from '../audit/schema.ts';
import { AUDIT_TYPE_NAMES } from '../audit/types.ts';
import type { Operations } from './operation.ts';
import { AT, digits, timestamp } from './shapes.ts';

const ACTOR_KINDS = ['human', 'machine', 'client', 'system', 'deleted', 'anonymous'] as const;

const event = z
  .object({
    sequence: digits(),
    creationDate: timestamp(),
    type: z.enum(AUDIT_TYPE_NAMES),
    actor: z.object({ kind: z.enum(ACTOR_KINDS), id: z.string().optional() }).meta({
      description:
        'Who did it. `client`: an OAuth client for itself. `system`: the service. `deleted`: a user who deleted ' +
        'themselves. `anonymous`: nobody was authenticated.',
    }),
    userId: z.string().optional().meta({ description: 'The user concerned.' }),
    orgId: z.string().optional().meta({ description: 'The organization concerned.' }),
    clientId: z.string().optional().meta({ description: 'The OAuth client that called, or whose token was used.' }),
    object: z.object({ type: z.string(), id: z.string() }).optional().meta({
      description: 'What was changed, if it is not a user: an `organization`, `client`, `import`, `instance`.',
    }),
    address: z.string().optional().meta({ description: 'IP address of the caller.' }),
    userAgent: z.string().optional().meta({ description: 'The first 200 characters of the header.' }),
    requestId: z.string().optional().meta({ description: 'As in `x-request-id` and in the log.' }),
    payload: z.record(z.string(), z.unknown()).optional().meta({ description: 'Details of this type of event.' }),
    count: z.int().meta({ minimum: 1, description: 'How many equal failures within a minute this event stands for.' }),
    lastDate: timestamp().optional().meta({ description: 'When the last of several equal failures was.' }),
  })
  .meta({ id: 'AuditEvent' });

const example = {
  sequence: '4711',
  creationDate: AT,
  type: 'user.signin.failed' as const,
  actor: { kind: 'anonymous' as const },
  userId: 'ann',
  orgId: 'acme',
  clientId: 'shop',
  address: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  requestId: '019c1a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b',
  payload: { reason: 'wrong_password' },
  count: 3,
  lastDate: AT,
};
const exampleCsv =
  'sequence,creationDate,type,actorKind,actorId,userId,orgId,clientId,objectType,objectId,address,userAgent,' +
  `requestId,payload,count,lastDate\r\n4711,${AT},user.locked,human,bob,ann,acme,,,,203.0.113.7,curl/8.5.0,,,1,\r\n`;

const SCOPE = 'An IAM_OWNER gets all events, others those of the organizations on which they are ORG_OWNER.';
const BUSY = 'EVENTS-SLOTS: the caller has too many searches and exports under way. RATE-LIMIT: too many requests.';

export const eventOperations: Operations = {
  'POST /admin/v1/events/_search': {
    id: 'searchEvents',
    summary: 'Search the audit events',
    description:
      `${SCOPE} All conditions must hold; \`from\` is inclusive, \`to\` is exclusive; \`address\` can be a network. Newest ` +
      'first unless `asc` is true. To get the next page, send the same body with `pageToken`; `nextPageToken` is empty ' +
      'on the last page.',
    body: {
      schema: auditSearch,
      examples: {
        'failed sign-ins of a day': {
          types: ['user.signin.failed'],
          from: '2026-01-31T00:00:00Z',
          to: '2026-02-01T00:00:00Z',
          pageSize: 1000,
        },
        'everything about a user': { userId: 'ann' },
      },
    },
    answers: {
      200: {
        schema: z.object({ result: z.array(event), nextPageToken: z.string() }),
        example: { result: [example], nextPageToken: '1769860800000-4711' },
      },
    },
    errors: { 429: BUSY },
  },
  'POST /admin/v1/events/_export': {
    id: 'exportEvents',
    summary: 'Export the audit events',
    description:
      `Streams all events that a search with these conditions finds, until now. ${SCOPE} \`ndjson\`: one event per line, ` +
      'as in the search. `csv`: one record per event; a cell that a spreadsheet would run as a formula begins with an ' +
      'apostrophe.',
    body: {
      schema: auditExport,
      examples: { 'sign-ins as a table': { types: ['user.signin.failed'], format: 'csv' } },
    },
    answers: {
      200: {
        schema: z.string(),
        example: `${JSON.stringify(example)}\n`,
        mediaType: 'application/x-ndjson',
        headers: z.object({ 'Content-Disposition': z.string() }),
        others: { 'text/csv': { schema: z.string(), example: exampleCsv } },
      },
    },
    errors: { 429: BUSY },
  },
};
