/** Shapes that many operations share. They are strict, so that tests notice a response with a new field. */
import { z } from 'zod';
import { requiredText, textProblem } from '../platform/fields.ts';

/** The time used in all examples. */
export const AT = '2026-01-31T12:00:00.000Z';

export const timestamp = () => z.string().meta({ format: 'date-time', examples: [AT] });
/**
 * A time or null. Null is part of `type`, as generators turn `anyOf` into a type of its own that cannot hold a null.
 */
export const timestampOrNull = () =>
  z
    .custom<string | null>((value) => value === null || typeof value === 'string')
    .meta({ type: ['string', 'null'], format: 'date-time', examples: [AT] });

/** A time in a request: RFC 3339 with any offset. */
export function timeInput() {
  return z.iso
    .datetime({ offset: true, error: 'must be an RFC 3339 timestamp' })
    .transform((text) => new Date(text))
    .refine((date) => Math.abs(date.getTime()) < 8e15, 'must be a year of four digits');
}

/** A 64-bit number as a string. */
export const digits = () => z.string().meta({ pattern: '^\\d+$', examples: ['4711'] });

const touched = { sequence: digits(), changeDate: timestamp(), resourceOwner: z.string() };

export const details = z.object(touched).meta({
  id: 'Details',
  description: 'Number and time of the last change of the object, and the organization (or `instance`) that owns it.',
});
export const createdDetails = z.object({ ...touched, creationDate: timestamp() }).meta({
  id: 'CreatedDetails',
  description: 'Details with the time of creation.',
});

export const exampleDetails = { sequence: '4711', changeDate: AT, resourceOwner: 'acme' };
export const exampleCreated = { ...exampleDetails, creationDate: AT };

/** The response to a change that returns no other data. */
export const changed = {
  schema: z.object({ details }).meta({ id: 'Changed' }),
  example: { details: exampleDetails },
};

/** The response to a change that creates something. */
export const created = {
  schema: z.object({ details: createdDetails }).meta({ id: 'Created' }),
  example: { details: exampleCreated },
};

/** The response of a search: the number of matches, and the matches of this page. */
export function searchAnswer<T extends z.ZodType>(result: T) {
  return z.object({ details: z.object({ totalResult: digits() }), result: z.array(result) });
}

/** An example of the response of a search. */
export function exampleSearch(...result: unknown[]) {
  return { details: { totalResult: String(result.length) }, result };
}

const errorDetail = z
  .object({
    '@type': z.literal('type.googleapis.com/service.v1.ErrorDetail'),
    id: z.string().meta({
      description: 'Stable id of the error. Programs can match on it.',
      pattern: '^[A-Z0-9]+(-[A-Z0-9]+)*$',
    }),
    message: z.string(),
  })
  .meta({ id: 'ErrorDetail' });
const badRequest = z
  .object({
    '@type': z.literal('type.googleapis.com/google.rpc.BadRequest'),
    fieldViolations: z.array(z.object({ field: z.string(), description: z.string() })).meta({ minItems: 1 }),
  })
  .meta({ id: 'FieldViolations' });

/** The body of every error. */
export const error = z
  .object({
    code: z.int().meta({ description: 'gRPC status code.', minimum: 1, maximum: 16 }),
    message: z.string(),
    details: z.array(z.union([errorDetail, badRequest])).meta({ minItems: 1, maxItems: 2 }),
  })
  .meta({
    id: 'Error',
    description:
      'The body of every error. The first detail contains the id. A validation error has a second detail, which names every invalid field.',
  });

/** The current password in a request. It may be longer than a new one: an imported hash can be of any password. */
export function currentPassword() {
  return requiredText(1000).optional();
}

/** The code that was mailed to a user whose second factor an import lost. */
export function mailedCode() {
  return requiredText(200)
    .optional()
    .meta({
      description:
        'Needed in addition where FACTOR-LOST says so: the code that was mailed to the verified address of a user whose ' +
        'second factor could not be imported.',
    });
}

/** Whether the change also ends what may be in the hands of somebody else (`revokeLogins`). */
export function endSessions() {
  return z.boolean('must be true or false').default(false).meta({
    description:
      'Also ends all sessions, logins in browsers and OAuth tokens of the user, those of this call too. Personal access tokens stay.',
  });
}

/** The body of a change that has no other fields. */
export const ownerProof = z.object({ currentPassword: currentPassword(), mailedCode: mailedCode() });

/** How users prove that an account is their own, in the descriptions of the operations that need it. */
export const OWNER_PROOF =
  'Users who call this for themselves must have signed in within the last 5 minutes (`auth_time` of the access token), ' +
  'or send `currentPassword`.';

/** The body of operations that need only the proof. */
export const proofBody = {
  schema: ownerProof,
  examples: { 'with the current password': { currentPassword: 'correct horse battery staple' } },
};

const MOST_URL = 2000;

/**
 * An absolute URL without credentials and fragment, of at most 2000 characters. platform/http/outgoing.ts checks the
 * address that it leads to.
 */
export function webhookUrl() {
  return z
    .string('must be a URL')
    .superRefine((s, ctx) => {
      const problem = textProblem(s, MOST_URL) ?? urlProblem(s);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ format: 'uri', maxLength: MOST_URL, examples: ['https://example.com/imported'] });
}

function urlProblem(s: string): string | undefined {
  if (!URL.canParse(s)) return 'must be a URL';
  const url = new URL(s);
  if (!/^https?:$/.test(url.protocol)) return 'must start with https://';
  if (url.username || url.password) return 'must not contain a user name or a password';
  return url.hash ? 'must not contain a fragment' : undefined;
}
