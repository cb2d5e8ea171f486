/** Request bodies of the user calls. */
import { z } from 'zod';
import { id, requiredText, text } from '../fields/fields.ts';
import { tokenPaging } from '../http/paging.ts';
import { isPageToken } from './search/page-token.ts';
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
const EQUALS = ['TEXT_QUERY_METHOD_EQUALS', 'TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE'];
const STARTS_WITH = ['TEXT_QUERY_METHOD_STARTS_WITH', 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE'];
const MAX_IDS = 10_000;
const PAGE_TOKEN = 'must be the nextPageToken of an answer';

/** Names always compare case-insensitively; other methods are refused rather than ignored. */
function method(...known: string[]) {
  return z.enum(known, `must be one of ${known.join(', ')}`).optional();
}

const query = z
  .object({
    organizationIdQuery: z.object({ organizationId: requiredText(200) }).optional(),
    userNameQuery: z.object({ userName: requiredText(200), method: method(...EQUALS, ...STARTS_WITH) }).optional(),
    loginNameQuery: z.object({ loginName: requiredText(500), method: method(...EQUALS) }).optional(),
    emailQuery: z.object({ emailAddress: requiredText(200), method: method(...EQUALS) }).optional(),
    inUserIdsQuery: z
      .object({ userIds: z.array(requiredText(200)).max(MAX_IDS, `must have at most ${MAX_IDS} ids`) })
      .optional(),
    stateQuery: z.object({ state: z.enum(STATES, `must be one of ${STATES.join(', ')}`) }).optional(),
  })
  .refine((q) => Object.values(q).filter((v) => v !== undefined).length === 1, 'must contain exactly one known query')
  .meta({ minProperties: 1, maxProperties: 1 });

export type UserQuery = z.output<typeof query>;
export const userSearch = z.object({
  query: tokenPaging(z.string(PAGE_TOKEN).refine(isPageToken, PAGE_TOKEN)),
  queries: z.array(query).max(100, 'must have at most 100 queries').default([]),
});
