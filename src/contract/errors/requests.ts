/** Errors that do not depend on the operation: of the request itself, the token, the limits and the service. */
import type { KnownError } from '../../platform/errors.ts';

export const REQUEST_ERRORS = {
  'AUTH-TOKEN': {
    status: 'UNAUTHENTICATED',
    meaning: 'The request has no bearer token, or the token is unknown, revoked or expired.',
    remedy: 'Send a personal access token, or an access token that has not expired, as `Authorization: Bearer …`.',
  },
  'AUTH-SCOPE': {
    status: 'UNAUTHENTICATED',
    meaning: 'The access token does not have the scope of the API.',
    remedy: 'Request the scope `urn:service:iam:org:project:id:service:aud` when you get the token.',
  },
  'AUTH-SIGN-IN-AGAIN': {
    status: 'UNAUTHENTICATED',
    meaning: 'The sign-in of the caller is too old for this change (RFC 9470).',
    remedy: 'Authorize again with `max_age=300`, or send `currentPassword`.',
  },
  'AUTH-PERMISSION': {
    stored: 'user',
    status: 'PERMISSION_DENIED',
    meaning:
      'The caller does not have a required role, or the user has more rights than the caller. The response does not reveal whether the resource exists.',
    remedy: 'Call with the token of a user who has the role. Owner: give the role to the caller.',
  },
  'CORS-ORIGIN': {
    status: 'PERMISSION_DENIED',
    meaning: 'The web page that sends the request has an origin that is not known.',
    remedy: 'IAM_OWNER: register a client with a redirect URI of this origin.',
  },
  'REQUEST-ABORTED': {
    status: 'ABORTED',
    meaning: 'The connection was closed before the response was complete.',
    remedy: 'Send the request again.',
  },
  'REQUEST-BODIES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The caller, the organization or the server has too many large bodies under way.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again; send fewer of them at the same time.',
  },
  'REQUEST-BODY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body is incomplete, or its compression is invalid.',
    remedy: 'Send the whole body. If you compress a bulk import, use gzip.',
  },
  'REQUEST-DEPTH': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body nests too many arrays and objects.',
    remedy: 'Nest at most 64.',
  },
  'REQUEST-ENCODING': {
    status: 'INVALID_ARGUMENT',
    http: 415,
    meaning: 'The `Content-Encoding` is not supported.',
    remedy: 'Send the body uncompressed. Only a bulk import may use gzip.',
  },
  'REQUEST-EXPECT': {
    status: 'INVALID_ARGUMENT',
    http: 417,
    meaning: 'The header `Expect` has an unknown value.',
    remedy: 'Send `Expect: 100-continue`, or leave the header out.',
  },
  'REQUEST-HEADERS': {
    status: 'RESOURCE_EXHAUSTED',
    http: 431,
    meaning: 'The request line and the headers are too large.',
    remedy: 'Send fewer or shorter headers, and large values in the body.',
  },
  'REQUEST-ID': {
    status: 'INVALID_ARGUMENT',
    meaning: 'An id in the path or in a header is too long, or has characters that no id has.',
    remedy: 'Send an id as the API returned it.',
  },
  'REQUEST-JSON': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body is not valid JSON in UTF-8.',
    remedy: 'Send JSON (RFC 8259), encoded as UTF-8.',
  },
  'REQUEST-MALFORMED': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The request is not valid HTTP, or has no or several `Host` headers.',
    remedy: 'Send the request with an HTTP library. Operator: check the proxies in front of the service.',
  },
  'REQUEST-MEDIA-TYPE': {
    status: 'INVALID_ARGUMENT',
    http: 415,
    meaning: 'The `Content-Type` is not supported.',
    remedy: 'Send `Content-Type: application/json`, or a media type that the operation names.',
  },
  'REQUEST-METHOD': {
    status: 'UNIMPLEMENTED',
    http: 405,
    meaning: 'The path does not support this method.',
    remedy: 'Use a method of the header `Allow`.',
  },
  'REQUEST-PATH': {
    status: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    meaning: ['The path does not exist.', 'The path has an invalid percent-encoding.'],
    remedy: 'Compare the path with `/openapi.json`, and encode its ids as RFC 3986 says.',
  },
  'REQUEST-TIMEOUT': {
    status: 'DEADLINE_EXCEEDED',
    http: 408,
    meaning: 'The request did not arrive in time.',
    remedy: 'Send the request again over a faster connection.',
  },
  'REQUEST-TOO-LARGE': {
    status: 'RESOURCE_EXHAUSTED',
    http: 413,
    meaning: 'The body is too large, before or after decompression.',
    remedy: 'Send less in one request. The message names the limit.',
  },
  'REQUEST-VALUES': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The body has too many values.',
    remedy: 'Split the request. The message names the limit.',
  },
  'RATE-LIMIT': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'There are too many requests, or too many attempts at a secret, from this IP address or for this client.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
  'PASSWORDS-BUSY': {
    status: 'UNAVAILABLE',
    meaning: 'Too many passwords are being checked.',
    remedy:
      'Wait for the number of seconds in `Retry-After`, then try again. Operator: give the service more processors if this lasts.',
  },
  'SERVICE-UNAVAILABLE': {
    status: 'UNAVAILABLE',
    meaning: 'The service is stopping, or cannot reach a store.',
    remedy:
      'Wait for the number of seconds in `Retry-After`, then try again. Operator: `/readyz` names the part that does not work.',
  },
  'NOT-READY': {
    status: 'UNAVAILABLE',
    from: '`/readyz`',
    meaning: 'A required part of the service does not work.',
    remedy: 'Operator: repair the part that the message names.',
  },
  'METRICS-TOKEN': {
    status: 'UNAUTHENTICATED',
    from: '`/metrics`',
    meaning: 'The request has no valid METRICS_TOKEN.',
    remedy: 'Operator: let Prometheus send the value of the setting METRICS_TOKEN as a bearer token.',
  },
  INTERNAL: {
    status: 'INTERNAL',
    meaning: 'The service has a fault. The error says no more.',
    remedy:
      'Give the operator the `X-Request-Id` of the response. Operator: search the log for this id, and report what it says.',
  },
} as const satisfies Record<string, KnownError>;
