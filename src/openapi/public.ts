/** What tells of this process and of the service itself, in the OpenAPI document; it needs no token. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi';

const status = z.object({ status: z.literal('ok') });
const fine = { description: 'It is.', content: { 'application/json': { schema: status, example: { status: 'ok' } } } };
const failing = z.array(z.object({ part: z.string(), since: z.iso.datetime() })).optional();
const ready = {
  description: 'It can. `failing` lists the parts that do not work and are not needed for that, and since when.',
  content: { 'application/json': { schema: status.extend({ failing }), example: { status: 'ok' } } },
};
const text = (mediaType: string) => ({ description: 'Done.', content: { [mediaType]: { schema: z.string() } } });
const document = {
  description: 'OpenAPI 3.1.',
  content: { 'application/json': { schema: z.object({ openapi: z.string() }).catchall(z.unknown()) } },
};
const unexpected = { $ref: '#/components/responses/Unexpected' };

function get(operationId: string, summary: string, answer: ZodOpenApiResponseObject): ZodOpenApiOperationObject {
  const responses = { 200: answer, default: unexpected };
  return { operationId, tags: ['Operations'], summary, security: [], responses };
}

export const publicPaths: ZodOpenApiPathsObject = {
  '/healthz': { get: get('isAlive', 'Whether this process answers', fine) },
  '/readyz': { get: get('isReady', 'Whether it can do its work', ready) },
  '/metrics': { get: get('getMetrics', 'Figures for Prometheus', text('text/plain')) },
  '/openapi.json': { get: get('getOpenApi', 'This document', document) },
  '/docs': { get: get('getDocs', 'This document to look at', text('text/html')) },
};
