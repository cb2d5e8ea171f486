/** Checks responses against the OpenAPI document: status, shape, request id, and that no internals leak. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// biome-ignore lint/suspicious/noExplicitAny: the document as JSON holds it
export type Json = any;

export interface Operation {
  id: string;
  /** Upper case. */
  method: string;
  /** `/v2beta/users/{userId}` */
  path: string;
  /** The operation object. */
  object: Json;
}

export interface Nowhere {
  path: string;
}

export interface Given {
  status: number;
  body: unknown;
  headers: Headers;
}

export interface Judge {
  operations: Operation[];
  /** Problems of a response to an operation, or to a method or path that does not exist. */
  problems(to: Operation | Nowhere, answer: Given): string[];
  /** Problems of a value, by a schema in the document. */
  shapeProblems(pointer: string[], value: unknown): string[];
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];
const ERROR = ['components', 'schemas', 'Error'];
const OAUTH_ERROR = ['components', 'schemas', 'OAuthError'];
/** These paths return errors in the format of RFC 6749. */
const PROTOCOL = /^\/(?:oauth|oidc)\//;
/** Words that occur only in internals of the service. */
const INTERNAL =
  /\bat \S+:\d+:\d+|node_modules|\/src\/|postgres|pg_|sqlstate|syntax error|violates|constraint|relation "|ECONN|TypeError|undefined|\[object/i;

export function openJudge(document: Json): Judge {
  const ajv = new Ajv2020({ allErrors: true, strictTypes: false, allowUnionTypes: true });
  (addFormats as unknown as typeof addFormats.default)(ajv);
  ajv.addFormat('idn-email', true);
  ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'security', 'paths', 'components', 'example']);
  ajv.addSchema(document, 'document');
  const validators = new Map<string, ValidateFunction>();

  const shapeProblems: Judge['shapeProblems'] = (pointer, value) => {
    const ref = `document#${pointer.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`;
    let validate = validators.get(ref);
    if (!validate) {
      validate = ajv.compile({ $ref: encodeURI(ref) });
      validators.set(ref, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || 'body'} ${message} ${JSON.stringify(params)}`,
    );
  };

  return {
    operations: operationsOf(document),
    shapeProblems,
    problems(to, answer) {
      const isProtocol = PROTOCOL.test(to.path);
      const found = [...headProblems(answer, isProtocol), ...leaks(answer)];
      if (!('method' in to)) return [...found, ...shapeProblems(isProtocol ? OAUTH_ERROR : ERROR, answer.body)];
      const responses = ['paths', to.path, to.method.toLowerCase(), 'responses'];
      const response = to.object.responses[answer.status];
      if (!response) return [...found, `status ${answer.status} is not documented`];
      const name = String(response.$ref ?? '').replace('#/components/responses/', '');
      const pointer = response.$ref ? ['components', 'responses', name] : [...responses, String(answer.status)];
      const { content } = response.$ref ? document.components.responses[name] : response;
      return [...found, ...bodyProblems(content, pointer, answer, to.method === 'HEAD')];
    },
  };

  function bodyProblems(content: Json, pointer: string[], { status, body, headers }: Given, isHead: boolean): string[] {
    // An answer to HEAD has no body.
    if (isHead && body === '') return [];
    // A redirect may have a text that says where it leads.
    if (!content) return body === '' || status === 303 ? [] : ['a body where none is documented'];
    const type = headers.get('content-type')?.split(';')[0] ?? 'none';
    if (!content[type]) return [`media type ${type} is not documented`];
    return shapeProblems([...pointer, 'content', type, 'schema'], body);
  }
}

function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      id: item[method].operationId,
      method: method.toUpperCase(),
      path,
      object: item[method],
    })),
  );
}

function headProblems({ status, headers }: Given, isProtocol: boolean): string[] {
  return [
    ...(headers.get('x-request-id') ? [] : ['no x-request-id']),
    ...(status === 401 && !isProtocol && !headers.get('www-authenticate') ? ['401 without WWW-Authenticate'] : []),
    ...(status === 405 && !headers.get('allow') ? ['405 without Allow'] : []),
    ...(status === 429 && !headers.get('retry-after') ? ['429 without Retry-After'] : []),
  ];
}

/** Error texts may repeat what callers sent only in the names of fields. */
function leaks({ status, body }: Given): string[] {
  if (status < 400) return [];
  const { message, error_description, details } = body as {
    message?: string;
    error_description?: string;
    details?: { fieldViolations?: { field: string; description: string }[] }[];
  };
  const violations = (details ?? []).flatMap((detail) => detail.fieldViolations ?? []);
  const withoutFields = violations.reduce((text, { field }) => text?.replaceAll(field, ''), message);
  const texts = [withoutFields?.split(':')[0], error_description, ...violations.map(({ description }) => description)];
  return texts
    .filter((text) => text !== undefined && INTERNAL.test(text))
    .map((text) => `something internal shows: ${text}`);
}
