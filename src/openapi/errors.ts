/** The error responses that operations share. */
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { errorBody, type FieldViolation, type StatusName } from '../errors.ts';
import { LARGE_BODY, SMALL_BODY } from '../http/json-body.ts';
import { ERROR_ANSWERS, type ErrorStatus } from './operation.ts';
import { error } from './shapes.ts';

type Sample = [StatusName, id: string, message: string, violations?: FieldViolation[]];

const BAD_FIELDS: FieldViolation[] = [
  { field: 'human.profile.firstName', description: 'is required' },
  { field: 'human.email.email', description: 'must be an email address such as ann@example.com' },
];

const SAMPLES: Record<ErrorStatus, { description: string; sample: Sample }> = {
  400: {
    description:
      'The request is invalid, or the state of the resource does not allow it. The error names every invalid field.',
    sample: [
      'INVALID_ARGUMENT',
      'ORG-SETUP',
      'human.profile.firstName is required; human.email.email must be an email address such as ann@example.com.',
      BAD_FIELDS,
    ],
  },
  401: {
    description:
      'AUTH-TOKEN: the request has no valid bearer token. AUTH-SCOPE: the access token does not have the scope of the API. `WWW-Authenticate` names the error as RFC 6750 says.',
    sample: ['UNAUTHENTICATED', 'AUTH-TOKEN', 'A valid bearer token is needed.'],
  },
  403: {
    description: 'The caller does not have a required role. The response does not reveal whether the resource exists.',
    sample: ['PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.'],
  },
  404: {
    description: 'The resource does not exist.',
    sample: ['NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.'],
  },
  409: {
    description: 'The resource already exists.',
    sample: ['ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.'],
  },
  413: {
    description: `REQUEST-TOO-LARGE: the body is larger than ${SMALL_BODY.bytes} bytes; for operations with long fields, than ${LARGE_BODY.bytes}.`,
    sample: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', `The body must be at most ${LARGE_BODY.bytes} bytes.`],
  },
  415: {
    description:
      'REQUEST-MEDIA-TYPE: the `Content-Type` is not supported. REQUEST-ENCODING: the `Content-Encoding` is not supported; only a bulk import may be compressed.',
    sample: ['INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', 'Content-Type must be application/json in UTF-8.'],
  },
  429: {
    description:
      'RATE-LIMIT: too many requests from this IP address. REQUEST-BODIES: the caller has too many large bodies under way. MAIL-LIMIT: the user has had too many emails and text messages in a day. SESSION-FAILURES: too many wrong passwords of this user. Wait for the number of seconds in `Retry-After`, then try again.',
    sample: ['RESOURCE_EXHAUSTED', 'RATE-LIMIT', 'Too many requests from this IP address. Try again later.'],
  },
  504: {
    description: 'The operation did not finish in time. It will not be performed later.',
    sample: [
      'DEADLINE_EXCEEDED',
      'IMPORT-TIMEOUT',
      'The user was not imported in time, and will not be imported later.',
    ],
  },
};

/** `components.responses` */
export function errorAnswers(): Record<string, ZodOpenApiResponseObject> {
  const named = (Object.keys(ERROR_ANSWERS) as unknown as ErrorStatus[]).map((status) => {
    const { description, sample } = SAMPLES[status];
    return [ERROR_ANSWERS[status], answer(description, sample)];
  });
  const unexpected = answer('An unexpected error, such as 500 INTERNAL or 503 UNAVAILABLE.', [
    'UNAVAILABLE',
    'SERVICE-UNAVAILABLE',
    'The service is temporarily unavailable. Try again.',
  ]);
  return { ...Object.fromEntries(named), Unexpected: unexpected };
}

function answer(description: string, [status, id, message, violations]: Sample): ZodOpenApiResponseObject {
  const example = errorBody(status, id, message, violations);
  return { description, content: { 'application/json': { schema: error, example } } };
}
