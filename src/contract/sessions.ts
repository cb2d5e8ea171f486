/** Sessions and logins: how a program checks a password, where a user is logged in, and the operations on both. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { requiredText } from '../platform/fields.ts';
import { totpCode } from './credentials.ts';
import { intentCheck } from './idp-intents.ts';
import { operations } from './operation.ts';
import { credentialJson } from './passkeys.ts';
import { ANY_ROLE, MANAGER_OR_SELF } from './roles.ts';
import { challenges, FIRST_CHALLENGES, returned } from './session-challenges.ts';
import {
  AT,
  changed,
  details,
  digits,
  exampleDetails,
  OWNER_PROOF,
  ownerProof,
  proofBody,
  timestamp,
} from './shapes.ts';

/** The user that somebody tries to log in as. */
export type LoginUser = ({ loginName: string } | { userId: string }) & LoginScope;

/** Where a login name is looked for. */
export interface LoginScope {
  /** Only users of these organizations are found; absent: of all. */
  orgIds?: readonly string[] | undefined;
  /** The organization that the application names: a bare name is that of its user, if it has such a user. */
  orgId?: string | undefined;
  /** An address that is not verified finds its user too, if nothing else does: only for what is then mailed to it. */
  alsoUnverified?: boolean | undefined;
}

const user = z
  .object({ loginName: requiredText(500).optional(), userId: requiredText(200).optional() })
  .refine((u) => (u.loginName === undefined) !== (u.userId === undefined), 'must contain either loginName or userId')
  .transform(({ loginName = '', userId }): LoginUser => (userId === undefined ? { loginName } : { userId }))
  .meta({ minProperties: 1, maxProperties: 1 });

/** What the caller knows about the person's device. */
const userAgent = z.object({
  ip: z
    .string()
    .refine((ip) => isIP(ip) !== 0, 'must be an IP address such as 203.0.113.7')
    .meta({
      examples: ['203.0.113.7'],
      description:
        'The IP address of the person. Failed attempts are counted by it; without it, by that of the caller.',
    })
    .optional(),
});

const sentCheck = z.object({ code: totpCode() });

/** What `PATCH` checks: one of them at a time. */
const FIRST_CHECKS = ['otpEmail', 'otpSms', 'webAuthN', 'idpIntent'] as const;

function count(of: Readonly<Record<string, unknown>> | null | undefined, names: readonly string[]): number {
  return of ? names.filter((name) => of[name] !== undefined).length : 0;
}

/** As a user typed it; see src/passwords/recovery-codes.ts. */
const recoveryCheck = z.object({ code: requiredText(100) }).meta({
  description: 'A recovery code, in place of the second factor. It is used up; the answer says how many are left.',
});

/** What proves a user after the first factor: at most one of these, by the names of `FactorKind`. */
const factorChecks = {
  totp: z.object({ code: totpCode() }).optional(),
  recoveryCode: recoveryCheck.optional(),
};

const webAuthNCheck = z.object({ credentialAssertionData: credentialJson() }).meta({
  description: 'The answer to `challenges.webAuthN` of this session: a new session has none, so `PATCH` checks it.',
});

/** What was sent as the second factor. */
export type FactorChecks = z.output<z.ZodObject<typeof factorChecks>> & {
  webAuthN?: z.output<typeof webAuthNCheck> | undefined;
};

const FACTOR_CHECKS = [...Object.keys(factorChecks), 'webAuthN'];

function hasOneFactor(checks: Readonly<Record<string, unknown>>): boolean {
  return count(checks, FACTOR_CHECKS) <= 1;
}

const ONE_FACTOR = { message: `must contain at most one of ${FACTOR_CHECKS.join(', ')}` };

/**
 * The body of the session call. The password may be longer than a new one: an imported hash can be of a password of any
 * length.
 */
export const newSession = z
  .object({
    checks: z
      .object({
        user,
        password: z.object({ password: requiredText(1000) }).optional(),
        ...factorChecks,
        webAuthN: webAuthNCheck.optional(),
        idpIntent: intentCheck.optional(),
      })
      .refine(hasOneFactor, ONE_FACTOR),
    challenges: challenges.optional(),
    userAgent: userAgent.optional(),
  })
  .refine(
    ({ checks, challenges: asked }: Asked) =>
      !checks || count(checks, ['password', 'idpIntent']) > 0 || count(asked, FIRST_CHALLENGES) > 0,
    {
      path: ['checks', 'password'],
      message: 'is required, unless challenges ask for a code or checks.idpIntent names a sign-in',
      when: ({ value }) => isObject(value),
    },
  )
  .refine(({ checks }: Asked) => !checks || checks.password === undefined || checks.idpIntent === undefined, {
    path: ['checks', 'idpIntent'],
    message: 'must not be sent with checks.password: add one of them with PATCH',
    when: ({ value }) => isObject(value),
  });

/** The body before it is known to be good. */
interface Asked {
  checks?: { password?: unknown; idpIntent?: unknown } | null | undefined;
  challenges?: Readonly<Record<string, unknown>> | null | undefined;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

export const changedSession = z
  .object({
    sessionToken: requiredText(200).optional().meta({ description: 'Of the session; checked if you send it.' }),
    checks: z
      .object({
        otpEmail: sentCheck.optional(),
        otpSms: sentCheck.optional(),
        webAuthN: webAuthNCheck.optional(),
        idpIntent: intentCheck.optional(),
        ...factorChecks,
      })
      .refine(hasOneFactor, ONE_FACTOR)
      .refine((of) => count(of, FIRST_CHECKS) === 1, {
        message: `must contain exactly one of ${FIRST_CHECKS.join(', ')}`,
      })
      .optional()
      .meta({
        description:
          'The code or the sign-in, and where the user has a second factor that too. After the password, the code is the ' +
          'second factor.',
      }),
    challenges: challenges.optional(),
  })
  .refine(({ checks, challenges: asked }) => checks !== undefined || count(asked, FIRST_CHALLENGES) > 0, {
    path: ['checks', 'otpEmail'],
    message: 'is required, unless challenges ask for a code',
  });

export type Checks = z.infer<typeof newSession>['checks'];

export const endLoginBody = ownerProof;

export const endLoginsBody = ownerProof.extend({
  keepCurrent: z.boolean('must be true or false').default(false).meta({
    description:
      'Keep the application and the browser of this call. Refused with the token of a program, which has no login.',
  }),
});

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
      password: checked.optional(),
      otpEmail: checked.optional(),
      otpSms: checked.optional(),
      webAuthN: checked
        .extend({ userVerified: z.boolean().meta({ description: 'Whether the authenticator has verified its user.' }) })
        .optional(),
      intent: checked.optional(),
      totp: checked.optional(),
      recoveryCode: checked.optional(),
    }),
  })
  .meta({ id: 'Session' });

const passwordChangeRequired = z.literal(true).optional().meta({ description: 'The user must change the password.' });

const recoveryCodesLeft = z
  .int()
  .optional()
  .meta({ description: 'How many recovery codes the user has left, after one was used.' });

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

export const sessionOperations = operations({
  createSession: {
    path: 'POST /v2beta/sessions',
    rpc: 'zitadel.session.v2.SessionService/CreateSession',
    who: ANY_ROLE,
    of: 'body',
    tries: 'always',
    summary: 'Check a password and, where the user has one, a second factor; or another way to sign in',
    description:
      'An unknown user, a wrong password and a user of an organization on which the caller has no role return the same ' +
      'error. A bare user name belongs to the user who had it first; with `x-service-orgid` it is that of the named ' +
      'organization. `sessionToken` identifies the session; it is not a bearer token. Without a password, ' +
      '`challenges` open a session that waits for a code or a passkey; `PATCH` checks that. With the password of a user who ' +
      'has such a second factor, the session waits for that factor. `checks.idpIntent` opens it ' +
      'with a sign-in at an external provider, for the user with a link to that account.',
    headers: z.object({
      'x-service-orgid': z.string().optional().meta({ description: 'Where a bare user name is looked for first.' }),
    }),
    body: {
      schema: newSession,
      error: 'SESSION-INVALID',
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
          passwordChangeRequired,
          recoveryCodesLeft,
          challenges: returned,
        }),
        example: { details: exampleDetails, sessionId: SESSION_ID, sessionToken: 'bm90IGEgdG9rZW4gb2YgYW55Ym9keQ' },
        description: 'What was sent is correct, or the session waits for its code.',
      },
    },
    errors: [
      'SESSION-CREDENTIALS',
      'SESSION-USER-LOCKED',
      'SESSION-USER-INACTIVE',
      'SESSION-USER-INITIAL',
      'SESSION-TOTP-REQUIRED',
      'SESSION-TOTP',
      'SESSION-MFA-SETUP-REQUIRED',
      'SESSION-PASSWORD-EXPIRED',
      'SESSION-FAILURES',
      'SESSION-ATTEMPTS',
      'PASSWORD-SOURCE-UNAVAILABLE',
      'SESSION-OTP-EMAIL-UNAVAILABLE',
      'SESSION-OTP-SMS-UNAVAILABLE',
      'SESSION-WEBAUTHN-UNAVAILABLE',
      'IDP-INTENT-NOT-FOUND',
      'IDP-INTENT-TOKEN',
      'URL-TEMPLATE-NOT-ALLOWED',
      'MAIL-LIMIT',
    ],
  },
  getSession: {
    path: 'GET /v2beta/sessions/{sessionId}',
    rpc: 'zitadel.session.v2.SessionService/GetSession',
    who: ANY_ROLE,
    of: 'session',
    summary: 'Get a session',
    answers: { 200: { schema: z.object({ session }), example: { session: exampleSession } } },
  },
  updateSession: {
    path: 'PATCH /v2beta/sessions/{sessionId}',
    rpc: 'zitadel.session.v2.SessionService/SetSession',
    who: ANY_ROLE,
    of: 'session',
    tries: 'by-body',
    summary: 'Check a code, a passkey or a sign-in at a provider for a session, or ask for one',
    description:
      'Only for the program that opened the session. A right code that was mailed verifies the address, and makes an ' +
      'INITIAL user ACTIVE; it changes no other state. The answer has a new `sessionToken`.',
    body: {
      schema: changedSession,
      error: 'SESSION-INVALID',
      examples: { 'the code': { checks: { otpEmail: { code: '48103572' } } } },
    },
    answers: {
      200: {
        schema: z.object({
          details,
          sessionToken: z.string(),
          passwordChangeRequired,
          recoveryCodesLeft,
          challenges: returned,
        }),
        example: { details: exampleDetails, sessionToken: 'bm90IGEgdG9rZW4gb2YgYW55Ym9keQ' },
      },
    },
    errors: [
      'SESSION-TOKEN',
      'SESSION-OTP-EMAIL',
      'SESSION-OTP-SMS',
      'SESSION-PASSKEY',
      'SESSION-OTP-EMAIL-UNAVAILABLE',
      'SESSION-OTP-SMS-UNAVAILABLE',
      'SESSION-WEBAUTHN-UNAVAILABLE',
      'IDP-INTENT-NOT-FOUND',
      'IDP-INTENT-TOKEN',
      'SESSION-CREDENTIALS',
      'SESSION-USER-LOCKED',
      'SESSION-USER-INACTIVE',
      'SESSION-USER-INITIAL',
      'SESSION-TOTP-REQUIRED',
      'SESSION-TOTP',
      'SESSION-MFA-SETUP-REQUIRED',
      'SESSION-PASSWORD-EXPIRED',
      'SESSION-FAILURES',
      'SESSION-ATTEMPTS',
      'IDP-INTENT-NOT-FOUND',
      'IDP-INTENT-TOKEN',
      'URL-TEMPLATE-NOT-ALLOWED',
      'MAIL-LIMIT',
    ],
  },
  deleteSession: {
    path: 'DELETE /v2beta/sessions/{sessionId}',
    rpc: 'zitadel.session.v2.SessionService/DeleteSession',
    who: ANY_ROLE,
    of: 'session',
    summary: 'Delete a session',
    answers: { 200: changed },
  },
});

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
  id: SESSION_ID,
  type: 'LOGIN_TYPE_SESSION',
  isCurrent: false,
  clientName: 'Shop backend',
  address: '203.0.113.7',
  creationDate: AT,
  expirationDate: AT,
};
const NOT_OURS = '403 also if the user has more rights than the caller.';

export const loginOperations = operations({
  listLogins: {
    path: 'GET /v2beta/users/{userId}/logins',
    who: MANAGER_OR_SELF,
    of: 'user',
    summary: 'List where a user is logged in',
    description:
      'Returns the newest 100. Personal access tokens and keys are not logins; nor are the tokens that programs get ' +
      `with them, which end after an hour. ${NOT_OURS}`,
    answers: { 200: { schema: z.object({ result: z.array(login) }), example: { result: [exampleLogin] } } },
  },
  endLogin: {
    path: 'DELETE /v2beta/users/{userId}/logins/{loginId}',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'End one login of a user',
    description:
      'The tokens of an application end with it, and tokens of a browser without `offline_access`. ' +
      `${OWNER_PROOF} ${NOT_OURS}`,
    body: { ...proofBody, schema: endLoginBody, error: 'LOGIN-INVALID' },
    answers: { 200: changed },
    errors: ['PASSWORD-CURRENT', 'AUTH-SIGN-IN-AGAIN', 'LOGIN-NOT-FOUND', 'SESSION-FAILURES'],
  },
  endLogins: {
    path: 'DELETE /v2beta/users/{userId}/logins',
    who: MANAGER_OR_SELF,
    of: 'user',
    tries: 'by-body',
    summary: 'End all logins of a user',
    description:
      "Ends the login of this call too, if it is the user's own, unless `keepCurrent` is true. " +
      `${OWNER_PROOF} ${NOT_OURS}`,
    body: { ...proofBody, schema: endLoginsBody, error: 'LOGIN-INVALID' },
    answers: { 200: changed },
    errors: ['PASSWORD-CURRENT', 'AUTH-SIGN-IN-AGAIN', 'SESSION-FAILURES'],
  },
});
