/** Machine users: the operations on them and on their tokens, keys and secrets. */
import { z } from 'zod';
import { operations } from './operation.ts';
import { OWNER } from './roles.ts';
import {
  changed,
  createdDetails,
  details,
  exampleCreated,
  exampleDetails,
  exampleSearch,
  searchAnswer,
  timestamp,
} from './shapes.ts';
import { newMachine } from './users.ts';

/** RFC 3339 allows only years of four digits. */
const END_OF_TIME = Date.UTC(10_000, 0, 1);

/** The expiration date of a token or a key: RFC 3339 with any offset, in the future. */
export function expirationDate() {
  return z.iso
    .datetime({
      offset: true,
      error: (i) => (typeof i.input === 'string' ? 'must be an RFC 3339 timestamp' : 'must be a string'),
    })
    .transform((s) => new Date(s))
    .refine((date) => date.getTime() > Date.now(), 'must be in the future')
    .refine((date) => date.getTime() < END_OF_TIME, 'must be before the year 10000 in UTC');
}

const KEY_TYPES = ['KEY_TYPE_JSON'] as const;

export const newKey = z.object({
  type: z.enum(KEY_TYPES, `must be one of ${KEY_TYPES.join(', ')}`).default('KEY_TYPE_JSON'),
  expirationDate: expirationDate().optional(),
});

/** A new personal access token. */
export const newPat = z.object({ expirationDate: expirationDate().optional() });

const ENDS = '2099-12-31T23:59:59.000Z';
const TOKEN_ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const ending = { expirationDate: timestamp().optional() };
const pat = z.object({ tokenId: z.string(), details: createdDetails, ...ending }).meta({ id: 'PersonalAccessToken' });
const key = z
  .object({ keyId: z.string(), type: z.literal('KEY_TYPE_JSON'), details: createdDetails, ...ending })
  .meta({ id: 'MachineKey' });

export const machineOperations = operations({
  createMachineUser: {
    path: 'POST /management/v1/users/machine',
    who: OWNER,
    of: 'org',
    summary: 'Create a machine user',
    body: {
      schema: newMachine,
      error: 'MACHINE-INVALID',
      examples: {
        minimal: { userName: 'reader', name: 'Reader' },
        'with an id': {
          userId: 'importer',
          userName: 'importer',
          name: 'Importer',
          description: 'Moves the users over',
          accessTokenType: 'ACCESS_TOKEN_TYPE_JWT',
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ userId: z.string(), details }),
        example: { userId: 'importer', details: exampleDetails },
      },
    },
    errors: ['ORG-LIMIT-USERS', 'ORG-STATE', 'USER-ID-TAKEN', 'USER-NAME-TAKEN'],
  },
  addPat: {
    path: 'POST /management/v1/users/{userId}/pats',
    who: OWNER,
    of: 'user',
    summary: 'Add a personal access token',
    description: 'The token is shown only once, in this response.',
    body: { schema: newPat, error: 'PAT-INVALID', examples: { ending: { expirationDate: ENDS } } },
    answers: {
      200: {
        schema: z.object({ tokenId: z.string(), token: z.string(), details: createdDetails }),
        example: { tokenId: TOKEN_ID, token: 'dGhpcyBpcyBub3QgYSB0b2tlbiBvZiBhbnlib2R5', details: exampleCreated },
      },
    },
    errors: ['PAT-NOT-A-MACHINE'],
  },
  listPats: {
    path: 'GET /management/v1/users/{userId}/pats',
    who: OWNER,
    of: 'user',
    summary: 'List the personal access tokens of a machine user',
    answers: {
      200: {
        schema: searchAnswer(pat),
        example: exampleSearch({ tokenId: TOKEN_ID, details: exampleCreated, expirationDate: ENDS }),
      },
    },
    errors: ['PAT-NOT-A-MACHINE'],
  },
  removePat: {
    path: 'DELETE /management/v1/users/{userId}/pats/{tokenId}',
    who: OWNER,
    of: 'user',
    summary: 'Remove a personal access token',
    description: 'The token stops working immediately.',
    answers: { 200: changed },
    errors: ['MEMBER-LAST-OWNER', 'MEMBER-LAST-ORG-OWNER', 'PAT-NOT-FOUND', 'PAT-NOT-A-MACHINE'],
  },
  addKey: {
    path: 'POST /management/v1/users/{userId}/keys',
    who: OWNER,
    of: 'user',
    summary: 'Add a key',
    description:
      '`keyDetails` is `{"type":"serviceaccount","keyId","key","expirationDate","userId"}` in base64. `key` is the ' +
      'private key in PEM format; it is shown only once, in this response. With it, the machine user signs assertions ' +
      'for the JWT bearer grant (RFC 7523).',
    body: {
      schema: newKey,
      error: 'KEY-INVALID',
      examples: { ending: { type: 'KEY_TYPE_JSON', expirationDate: ENDS } },
    },
    answers: {
      200: {
        schema: z.object({
          keyId: z.string(),
          keyDetails: z.string().meta({ contentEncoding: 'base64' }),
          details: createdDetails,
        }),
        example: { keyId: TOKEN_ID, keyDetails: 'eyJ0eXBlIjoic2VydmljZWFjY291bnQifQ==', details: exampleCreated },
      },
    },
    errors: ['KEY-NOT-A-MACHINE'],
  },
  listKeys: {
    path: 'GET /management/v1/users/{userId}/keys',
    who: OWNER,
    of: 'user',
    summary: 'List the keys of a machine user',
    answers: {
      200: {
        schema: searchAnswer(key),
        example: exampleSearch({
          keyId: TOKEN_ID,
          type: 'KEY_TYPE_JSON',
          details: exampleCreated,
          expirationDate: ENDS,
        }),
      },
    },
    errors: ['KEY-NOT-A-MACHINE'],
  },
  removeKey: {
    path: 'DELETE /management/v1/users/{userId}/keys/{keyId}',
    who: OWNER,
    of: 'user',
    summary: 'Remove a key',
    answers: { 200: changed },
    errors: ['MEMBER-LAST-OWNER', 'MEMBER-LAST-ORG-OWNER', 'KEY-NOT-FOUND', 'KEY-NOT-A-MACHINE'],
  },
  setSecret: {
    path: 'PUT /management/v1/users/{userId}/secret',
    who: OWNER,
    of: 'user',
    summary: 'Create or replace the client secret',
    description:
      'The secret is for the client credentials grant. It is shown only once, in this response. A previous secret stops working.',
    answers: {
      200: {
        schema: z.object({ clientId: z.string(), clientSecret: z.string(), details }),
        example: { clientId: 'importer', clientSecret: 'bm90IGEgc2VjcmV0IG9mIGFueWJvZHk', details: exampleDetails },
      },
    },
    errors: ['SECRET-NOT-A-MACHINE'],
  },
  removeSecret: {
    path: 'DELETE /management/v1/users/{userId}/secret',
    who: OWNER,
    of: 'user',
    summary: 'Remove the client secret',
    answers: { 200: changed },
    errors: ['MEMBER-LAST-OWNER', 'MEMBER-LAST-ORG-OWNER', 'SECRET-NOT-FOUND', 'SECRET-NOT-A-MACHINE'],
  },
});
