/**
 * A span for each request to the API, which continues the trace that the caller names (`traceparent`).
 *
 * Guarantee: a span contains method, route, status and error id. It contains no path, as ids of users may be names or
 * addresses, and no query, header or body.
 */
import {
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Request, RequestHandler, Response } from 'express';
import { isProbe } from '../http/access-log.ts';
import { routeOf } from '../http/metrics/requests.ts';
import { idsOf } from './recorder.ts';

const IMPORT_ID = /^\d{1,19}$/;

/** Mount it before all routes. */
export function traceRequests(tracer: Tracer): RequestHandler {
  return (req, res, next) => {
    if (isProbe(req)) return next();
    const parent = propagation.extract(ROOT_CONTEXT, req.headers);
    const span = tracer.startSpan(req.method, { kind: SpanKind.SERVER }, parent);
    res.locals.traceIds = idsOf(span);
    res.on('close', () => finish(span, req, res));
    context.with(trace.setSpan(parent, span), next);
  };
}

function finish(span: Span, req: Request, res: Response): void {
  const route = routeOf(req);
  const importId = String(req.params?.importId ?? '');
  span.setAttributes({
    'http.request.method': req.method,
    ...(route === 'none' ? {} : { 'http.route': route }),
    ...(IMPORT_ID.test(importId) ? { 'muster.import.id': importId } : {}),
    ...(res.writableFinished ? { 'http.response.status_code': res.statusCode } : { 'error.type': 'aborted' }),
    ...(res.locals.errorId === undefined ? {} : { 'error.type': String(res.locals.errorId) }),
  });
  if (route !== 'none') span.updateName(`${req.method} ${route}`);
  if (res.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
