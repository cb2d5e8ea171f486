/** Request bodies of the user calls. */
import { z } from 'zod';
import { id, requiredText, text } from '../fields/fields.ts';
import { paging } from '../http/paging.ts';
import { ACCESS_TOKEN_TYPES } from './view.ts';

export const newMachine = z.object({
  userId: id().optional(),
  userName: requiredText(200),
  name: requiredText(200),
  description: text(500).default(''),
  accessTokenType: z
    .enum(ACCESS_TOKEN_TYPES, `must be one of ${ACCESS_TOKEN_TYPES.join(', ')}`)
    .default('ACCESS_TOKEN_TYPE_BEARER'),
});

const STATES = ['ACTIVE', 'INACTIVE', 'DELETED', 'LOCKED', 'INITIAL'].map((s) => `USER_STATE_${s}`);
const METHODS = ['TEXT_QUERY_METHOD_EQUALS', 'TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE'];
const MAX_IDS = 10_000;

/** Names always compare case-insensitively; other methods are refused rather than ignored. */
const method = z.enum(METHODS, `must be one of ${METHODS.join(', ')}`).optional();

const query = z
  .object({
    organizationIdQuery: z.object({ organizationId: requiredText(200) }).optional(),
    userNameQuery: z.object({ userName: requiredText(200), method }).optional(),
    loginNameQuery: z.object({ loginName: requiredText(500), method }).optional(),
    emailQuery: z.object({ emailAddress: requiredText(200), method }).optional(),
    inUserIdsQuery: z
      .object({ userIds: z.array(requiredText(200)).max(MAX_IDS, `must have at most ${MAX_IDS} ids`) })
      .optional(),
    stateQuery: z.object({ state: z.enum(STATES, `must be one of ${STATES.join(', ')}`) }).optional(),
  })
  .refine((q) => Object.values(q).filter((v) => v !== undefined).length === 1, 'must contain exactly one known query')
  .meta({ minProperties: 1, maxProperties: 1 });

export type UserQuery = z.output<typeof query>;
export const userSearch = z.object({
  query: paging(),
  queries: z.array(query).max(100, 'must have at most 100 queries').default([]),
});
