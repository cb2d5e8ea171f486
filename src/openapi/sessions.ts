/** Sessions in the OpenAPI document. */
import { z } from 'zod';
import { newSession } from '../identity/sessions/schema.ts';
import type { Operations } from './operation.ts';
import { AT, changed, details, digits, exampleDetails, timestamp } from './shapes.ts';

const SESSION_ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const checked = z.object({ verifiedAt: timestamp() });

const session = z
  .object({
    id: z.string(),
    creationDate: timestamp(),
    changeDate: timestamp(),
    sequence: digits(),
    expirationDate: timestamp().describe('When the session ends by itself (setting SESSION_TTL_DAYS).'),
    factors: z.object({
      user: z.object({
        verifiedAt: timestamp(),
        id: z.string(),
        loginName: z.string(),
        displayName: z.string(),
        organizationId: z.string(),
      }),
      password: checked,
      totp: checked.optional(),
    }),
  })
  .meta({ id: 'Session' });

const exampleSession = {
  id: SESSION_ID,
  creationDate: AT,
  changeDate: AT,
  sequence: '4711',
  expirationDate: AT,
  factors: {
    user: {
      verifiedAt: AT,
      id: 'bob',
      loginName: 'bob@acme.example',
      displayName: 'Bob Burns',
      organizationId: 'acme',
    },
    password: { verifiedAt: AT },
  },
};

export const sessionOperations: Operations = {
  'POST /v2beta/sessions': {
    id: 'createSession',
    summary: 'Check a password and, where the user has one, a second factor',
    description:
      'An unknown user, a wrong password and a user of an organization on which the caller has no role return the same ' +
      'error. A bare user name belongs to the user who had it first; with `x-service-orgid` it is that of the named ' +
      'organization. `sessionToken` identifies the session; it is not a bearer token.',
    headers: z.object({
      'x-service-orgid': z.string().optional().meta({ description: 'Where a bare user name is looked for first.' }),
    }),
    body: {
      schema: newSession,
      examples: {
        'by login name': {
          checks: {
            user: { loginName: 'bob@acme.example' },
            password: { password: 'correct horse battery staple' },
          },
        },
      },
    },
    answers: {
      201: {
        schema: z.object({
          details,
          sessionId: z.string(),
          sessionToken: z.string(),
          passwordChangeRequired: z
            .literal(true)
            .optional()
            .meta({ description: 'The user must change the password.' }),
        }),
        example: { details: exampleDetails, sessionId: SESSION_ID, sessionToken: 'bm90IGEgdG9rZW4gb2YgYW55Ym9keQ' },
        description: 'The password is correct.',
      },
    },
    errors: {
      400:
        'SESSION-INVALID: invalid fields. SESSION-CREDENTIALS: the user or the password is wrong. Only after a correct ' +
        'password: SESSION-USER-LOCKED, SESSION-USER-INACTIVE, SESSION-USER-INITIAL, SESSION-TOTP-REQUIRED (the code is ' +
        'missing), SESSION-TOTP (the code is wrong), SESSION-MFA-SETUP-REQUIRED (the login policy requires a second ' +
        'factor, and the user has none: let them sign in on the log-in pages once), SESSION-PASSWORD-EXPIRED.',
      429:
        'SESSION-FAILURES: too many failed attempts to log in as this user; nothing is checked, so a right password gets ' +
        'this error too. SESSION-ATTEMPTS: too many attempts to log in as this user are being checked. RATE-LIMIT: too ' +
        'many requests. Wait for the number of seconds in `Retry-After`, then try again.',
    },
  },
  'GET /v2beta/sessions/{sessionId}': {
    id: 'getSession',
    summary: 'Get a session',
    answers: { 200: { schema: z.object({ session }), example: { session: exampleSession } } },
  },
  'DELETE /v2beta/sessions/{sessionId}': {
    id: 'deleteSession',
    summary: 'Delete a session',
    answers: { 200: changed },
  },
};
