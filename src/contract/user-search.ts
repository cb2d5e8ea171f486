/** Searches of users: what a search may ask for, and the tokens of its pages. */
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { tokenPaging } from '../platform/http/answers.ts';

/** A deleted user has no row, so a search for the state `deleted` finds nobody. */
const SEARCHED_STATES = ['ACTIVE', 'INACTIVE', 'DELETED', 'LOCKED', 'INITIAL'].map((state) => `USER_STATE_${state}`);
const EQUALS = ['TEXT_QUERY_METHOD_EQUALS', 'TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE'];
const STARTS_WITH = ['TEXT_QUERY_METHOD_STARTS_WITH', 'TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE'];
const MAX_IDS = 10_000;
/** Every word of the text begins a word of the name, in any order. */
const WORDS = 'TEXT_QUERY_METHOD_WORDS_START_WITH_IGNORE_CASE';
/** Fewer characters begin the names of too many people. */
const LEAST_OF_NAME = 2;
const PAGE_TOKEN = 'must be the nextPageToken of an answer';

/** Names always compare case-insensitively. Other methods are refused rather than ignored. */
function method(...known: string[]) {
  return z.enum(known, `must be one of ${known.join(', ')}`).optional();
}

const query = z
  .object({
    organizationIdQuery: z.object({ organizationId: requiredText(200) }).optional(),
    userNameQuery: z.object({ userName: requiredText(200), method: method(...EQUALS, ...STARTS_WITH) }).optional(),
    loginNameQuery: z.object({ loginName: requiredText(500), method: method(...EQUALS) }).optional(),
    emailQuery: z.object({ emailAddress: requiredText(200), method: method(...EQUALS) }).optional(),
    displayNameQuery: z
      .object({ displayName: requiredText(200), method: method(...EQUALS, ...STARTS_WITH, WORDS) })
      .refine(
        ({ displayName, method }) =>
          !(isPrefix(method) || isOfWords(method)) || displayName.trim().length >= LEAST_OF_NAME,
        {
          path: ['displayName'],
          message: `must have at least ${LEAST_OF_NAME} characters with this method`,
        },
      )
      .optional(),
    phoneQuery: z.object({ number: requiredText(200), method: method(...EQUALS) }).optional(),
    inUserIdsQuery: z
      .object({ userIds: z.array(requiredText(200)).max(MAX_IDS, `must have at most ${MAX_IDS} ids`) })
      .optional(),
    stateQuery: z.object({ state: z.enum(SEARCHED_STATES, `must be one of ${SEARCHED_STATES.join(', ')}`) }).optional(),
  })
  .refine((q) => Object.values(q).filter((v) => v !== undefined).length === 1, 'must contain exactly one known query')
  .meta({ minProperties: 1, maxProperties: 1 });

export type UserQuery = z.output<typeof query>;
export const userSearch = z.object({
  query: tokenPaging(z.string(PAGE_TOKEN).refine(isPageToken, PAGE_TOKEN)),
  queries: z.array(query).max(100, 'must have at most 100 queries').default([]),
});

/** Whether a name begins with the text, and need not be the same. */
export function isPrefix(method: string | undefined): boolean {
  return method?.startsWith('TEXT_QUERY_METHOD_STARTS_WITH') ?? false;
}

/** Whether the words of a text begin words of a name. */
export function isOfWords(method: string | undefined): boolean {
  return method === WORDS;
}

/** A position in the order of names: after the user whom a page token names. */
export interface Position {
  key: string;
  orgId: string;
}

/**
 * The token of the next page: the user name and the organization of the last user, which the caller has seen.
 * @param users the page; its last user must exist
 */
export function tokenAfter(users: readonly { key: string; orgId: string }[]): string {
  const { key, orgId } = users.at(-1) as { key: string; orgId: string };
  return Buffer.from(JSON.stringify([key, orgId])).toString('base64url');
}

/** Whether a text is a token; it may still name a user who is deleted. */
export function isPageToken(text: string): boolean {
  return parse(text) !== undefined;
}

/** The position that a token names. @param token one that `isPageToken` accepts */
export function positionOf(token: string | undefined): Position | undefined {
  const [key, orgId] = (token && parse(token)) || [];
  return key === undefined || orgId === undefined ? undefined : { key, orgId };
}

function parse(text: string): [string, string] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const [key, orgId, ...rest] = Array.isArray(value) ? value : [];
    const isToken = typeof key === 'string' && typeof orgId === 'string' && rest.length === 0;
    return isToken && !`${key}${orgId}`.includes('\0') && `${key}${orgId}`.isWellFormed() ? [key, orgId] : undefined;
  } catch {
    return undefined;
  }
}
