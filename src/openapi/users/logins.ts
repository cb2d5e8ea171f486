/** Logins of users in the OpenAPI document. */
import { z } from 'zod';
import { endLoginBody, endLoginsBody } from '../../identity/logins/schema.ts';
import type { Operations } from '../operation.ts';
import { OWNER_PROOF, proofBody, SIGN_IN_AGAIN, WRONG_PASSWORD } from '../owner-proof.ts';
import { AT, changed, timestamp } from '../shapes.ts';

const LOGIN_ID = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';

const login = z
  .object({
    id: z.string(),
    type: z.enum(['LOGIN_TYPE_SESSION', 'LOGIN_TYPE_BROWSER', 'LOGIN_TYPE_APPLICATION']).meta({
      description:
        'A session that a program opened with the password, a browser that is signed in, or an application with tokens.',
    }),
    clientId: z.string().optional().meta({ description: 'Of an application.' }),
    clientName: z
      .string()
      .optional()
      .meta({ description: 'Of an application that is not built in, or of the program that opened the session.' }),
    isCurrent: z.boolean().meta({ description: 'Whether it is the application or the browser of this call.' }),
    address: z.string().optional().meta({
      description: 'The IP address of the last use. Of a session the `userAgent.ip` that the program named.',
    }),
    userAgent: z.string().optional().meta({ description: 'The `User-Agent` of the browser at the last use.' }),
    creationDate: timestamp(),
    lastUseDate: timestamp().optional().describe('When it last signed in to an application or got tokens.'),
    expirationDate: timestamp().describe('When the login ends by itself.'),
  })
  .meta({ id: 'Login' });

const exampleLogin = {
  id: LOGIN_ID,
  type: 'LOGIN_TYPE_SESSION',
  isCurrent: false,
  clientName: 'Shop backend',
  address: '203.0.113.7',
  creationDate: AT,
  expirationDate: AT,
};
const NOT_OURS = '403 also if the user has more rights than the caller.';

export const loginOperations: Operations = {
  'GET /v2beta/users/{userId}/logins': {
    id: 'listLogins',
    summary: 'List where a user is logged in',
    description:
      'Returns the newest 100. Personal access tokens and keys are not logins; nor are the tokens that programs get ' +
      `with them, which end after an hour. ${NOT_OURS}`,
    answers: { 200: { schema: z.object({ result: z.array(login) }), example: { result: [exampleLogin] } } },
  },
  'DELETE /v2beta/users/{userId}/logins/{loginId}': {
    id: 'endLogin',
    summary: 'End one login of a user',
    description:
      'The tokens of an application end with it, and tokens of a browser without `offline_access`. ' +
      `${OWNER_PROOF} ${NOT_OURS}`,
    body: { ...proofBody, schema: endLoginBody },
    answers: { 200: changed },
    errors: { 400: `LOGIN-INVALID: invalid fields. ${WRONG_PASSWORD}`, 401: SIGN_IN_AGAIN },
  },
  'DELETE /v2beta/users/{userId}/logins': {
    id: 'endLogins',
    summary: 'End all logins of a user',
    description:
      "Ends the login of this call too, if it is the user's own, unless `keepCurrent` is true. " +
      `${OWNER_PROOF} ${NOT_OURS}`,
    body: { ...proofBody, schema: endLoginsBody },
    answers: { 200: changed },
    errors: { 400: `LOGIN-INVALID: invalid fields. ${WRONG_PASSWORD}`, 401: SIGN_IN_AGAIN },
  },
};
