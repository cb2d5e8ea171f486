/** The shared error answers of the document. */
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { errorBody, type FieldViolation, type StatusName } from '../errors.ts';
import { ERROR_ANSWERS, type ErrorStatus } from './operation.ts';
import { error } from './shapes.ts';

type Sample = [StatusName, id: string, message: string, violations?: FieldViolation[]];

const BAD_FIELDS: FieldViolation[] = [
  { field: 'human.profile.firstName', description: 'is required' },
  { field: 'human.email.email', description: 'must be an email address such as ann@example.com' },
];

const SAMPLES: Record<ErrorStatus, { description: string; sample: Sample }> = {
  400: {
    description: 'The request is not valid, or does not fit the state of things. Every bad field is named.',
    sample: ['INVALID_ARGUMENT', 'ORG-SETUP', 'Invalid fields: human.profile.firstName is required; …', BAD_FIELDS],
  },
  401: {
    description: 'No valid bearer token came with the request.',
    sample: ['UNAUTHENTICATED', 'AUTH-TOKEN', 'A valid bearer token is needed.'],
  },
  403: {
    description: 'The caller holds no sufficient role; to such a caller what exists and what does not look alike.',
    sample: ['PERMISSION_DENIED', 'AUTH-PERMISSION', 'No permission to access the resource.'],
  },
  404: {
    description: 'It does not exist.',
    sample: ['NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.'],
  },
  409: {
    description: 'It exists already.',
    sample: ['ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.'],
  },
  413: {
    description: 'The body is too large.',
    sample: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', 'The body is too large.'],
  },
  415: {
    description: 'The body is not JSON in UTF-8, or has an encoding that is not taken.',
    sample: ['INVALID_ARGUMENT', 'REQUEST-MEDIA-TYPE', 'The body must be application/json in UTF-8.'],
  },
  429: {
    description: 'Too many requests; `Retry-After` says when to go on.',
    sample: ['RESOURCE_EXHAUSTED', 'RATE-LIMIT', 'Too many requests; try again later.'],
  },
  504: {
    description: 'It could not be done in time, and will not be done later.',
    sample: ['DEADLINE_EXCEEDED', 'IMPORT-TIMEOUT', 'The user was not imported in time, and will not be.'],
  },
};

/** `components.responses` */
export function errorAnswers(): Record<string, ZodOpenApiResponseObject> {
  const named = (Object.keys(ERROR_ANSWERS) as unknown as ErrorStatus[]).map((status) => {
    const { description, sample } = SAMPLES[status];
    return [ERROR_ANSWERS[status], answer(description, sample)];
  });
  const unexpected = answer('Any other status is an unexpected error: 500 INTERNAL, 503 UNAVAILABLE.', [
    'UNAVAILABLE',
    'SERVICE-UNAVAILABLE',
    'The service is not available right now; try again.',
  ]);
  return { ...Object.fromEntries(named), Unexpected: unexpected };
}

function answer(description: string, [status, id, message, violations]: Sample): ZodOpenApiResponseObject {
  const example = errorBody(status, id, message, violations);
  return { description, content: { 'application/json': { schema: error, example } } };
}
