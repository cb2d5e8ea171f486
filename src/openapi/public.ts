/** Health, metrics and documentation in the OpenAPI document; these paths need no token, unless METRICS_TOKEN is set. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi';

const status = z.object({ status: z.literal('ok') });
const fine = { description: 'OK.', content: { 'application/json': { schema: status, example: { status: 'ok' } } } };
const failing = z.array(z.object({ part: z.string(), since: z.iso.datetime() })).optional();
const ready = {
  description: 'Ready. `failing` lists optional parts that do not work, and since when.',
  content: { 'application/json': { schema: status.extend({ failing }), example: { status: 'ok' } } },
};
const text = (mediaType: string) => ({ description: 'OK.', content: { [mediaType]: { schema: z.string() } } });
const document = {
  description: 'An OpenAPI 3.1 document.',
  content: { 'application/json': { schema: z.object({ openapi: z.string() }).catchall(z.unknown()) } },
};
const unexpected = { $ref: '#/components/responses/Unexpected' };

function get(operationId: string, summary: string, answer: ZodOpenApiResponseObject): ZodOpenApiOperationObject {
  const responses = { 200: answer, default: unexpected };
  return { operationId, tags: ['Operations'], summary, security: [], responses };
}

export const publicPaths: ZodOpenApiPathsObject = {
  '/healthz': { get: get('isAlive', 'Check that the process responds', fine) },
  '/readyz': { get: get('isReady', 'Check that the process is ready to work', ready) },
  '/metrics': {
    get: {
      ...get('getMetrics', 'Get metrics for Prometheus', text('text/plain')),
      description:
        'With the setting METRICS_TOKEN, send its value as a bearer token. With METRICS_PORT, this path is on that port only.',
    },
  },
  '/openapi.json': { get: get('getOpenApi', 'Get this document', document) },
  '/docs': { get: get('getDocs', 'Read this document in the browser', text('text/html')) },
};
