/**
 * Traces with the SDK of OpenTelemetry, and its exporter of OTLP over HTTP: a span for each request, which continues
 * the trace that the caller names (`traceparent`), spans of imports in the trace in which they were accepted
 * (`imports.trace_context`), and slow statements.
 *
 * Guarantee: nothing waits for the collector. While it is away or slow, at most OTEL_BSP_MAX_QUEUE_SIZE spans wait in
 * memory and further ones are dropped; the log has a line in ten seconds at most (src/platform/logger.ts). What spans
 * may contain is in src/platform/telemetry.ts. The span of a request contains method, route, status and error id: no
 * path, as ids of users may be names or addresses, and no query, header or body. The span of a statement names it by
 * its first word and its first table, or by the name under which it is prepared: neither its values nor its text.
 * On crash: the spans of the last seconds are lost.
 */
import { randomUUID } from 'node:crypto';
import {
  type Context,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/pool.ts';
import type { Imports } from '../platform/db/tables.ts';
import { routeOf } from '../platform/http/metrics.ts';
import { isProbe } from '../platform/http/requests.ts';
import {
  type Attributes,
  annotate,
  noteEnd,
  type Recorder,
  recordWith,
  type SpanName,
  safely,
  subscribe,
  type TraceIds,
} from '../platform/telemetry.ts';
import { withTimeout } from '../platform/timeouts.ts';

/** How long a process that stops waits for the collector. */
const FLUSH_MS = 1000;

/** This many spans of one name are all recorded, and as many more each time that their number doubles. */
const FIRST = 200;

/** Milliseconds from which a statement is slow. */
const SLOW_MS = 100;

/** Imports whose traces are kept in memory. */
const MOST_IMPORTS = 1000;

const VERB = /^[\s(]*([a-z]+)/i;
const TABLE = /\b(?:from|into|update|table|join)\s+(?:only\s+)?([a-z_]+)/i;
const IMPORT_ID = /^\d{1,19}$/;
const CODE = /^[A-Z0-9_]{2,40}$/;

const PARENT_BASED = 'parentbased_';

/** The kinds of spans that are not internal. */
const KINDS: Partial<Record<SpanName, SpanKind>> = {
  'import.dispatch': SpanKind.PRODUCER,
  'import.batch': SpanKind.CONSUMER,
  'mail.send': SpanKind.CLIENT,
  'webhook.send': SpanKind.CLIENT,
};

// Outcomes that are published for metrics are recorded in the active span too.
subscribe('signIn', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('mail', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('webhook', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('importEnded', ({ importId, state, seconds }) => noteEnd(importId, state, seconds));

export interface TracingDeps {
  /** The name of the service, unless OTEL_SERVICE_NAME is set. */
  service: string;
  config: Config;
  db: Db;
  logger: Logger;
}

export interface Tracing {
  /** Mount it before all routes. */
  requests: RequestHandler;
  /**
   * Sends the last spans. Never throws.
   * @param mostMs how long it waits for the collector; by default a second
   */
  stop(mostMs?: number): Promise<void>;
}

/** The trace in which an import was accepted. */
interface ImportTrace {
  /** What the spans of the import are part of. */
  parent: Context;
  /** Spans of this process, recorded or not. */
  counts: Map<SpanName, number>;
}

type Settings = Pick<Config, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>;

/** Starts to record. A process has at most one SDK at a time. */
export function startSdk({ service, config, db, logger }: TracingDeps, url: string): Tracing {
  reportTo(logger);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const spans = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url }),
    maxQueueSize: config.OTEL_BSP_MAX_QUEUE_SIZE,
    maxExportBatchSize: Math.min(512, config.OTEL_BSP_MAX_QUEUE_SIZE),
    scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
  });
  const resource = resourceOf(service, config.OTEL_SERVICE_NAME);
  const provider = new TracerProvider({ sampler: samplerOf(config), resource, spanProcessors: [spans] });
  const tracer = provider.getTracer('muster', packageJson.version);
  recordWith(openRecorder(tracer, openImportTraces(db)));
  return {
    requests: traceRequests(tracer),
    async stop(mostMs = FLUSH_MS) {
      recordWith(undefined);
      await withTimeout(provider.shutdown(), mostMs, 'The collector').catch((err) =>
        logger.warn({ err }, 'the last spans were not sent'),
      );
      for (const api of [context, propagation, diag]) api.disable();
    },
  };
}

function reportTo(logger: Logger): void {
  const warn = (reason: string) => logger.warn({ reason }, 'tracing');
  const ignore = () => {};
  const levels = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(levels, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler((err) => logger.warn({ err }, 'spans were not sent'));
}

/** OTEL_RESOURCE_ATTRIBUTES comes before ours, and OTEL_SERVICE_NAME before both. */
function resourceOf(service: string, name: string | undefined): Resource {
  return resourceFromAttributes({
    'service.name': service,
    'service.version': packageJson.version,
    'service.instance.id': randomUUID(),
    'process.pid': process.pid,
  })
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes(name ? { 'service.name': name } : {}));
}

/** The sampler that OTEL_TRACES_SAMPLER names. */
export function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Settings): Sampler {
  const root = rootSampler(name.replace(PARENT_BASED, ''), ratio);
  return name.startsWith(PARENT_BASED) ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}

/** Mount it before all routes. */
function traceRequests(tracer: Tracer): RequestHandler {
  return (req, res, next) => {
    if (isProbe(req)) return next();
    const active = safely(() => {
      const parent = propagation.extract(ROOT_CONTEXT, req.headers);
      const span = tracer.startSpan(req.method, { kind: SpanKind.SERVER }, parent);
      res.locals.traceIds = idsOf(span);
      res.on('close', () => safely(() => finish(span, req, res)));
      return trace.setSpan(parent, span);
    });
    if (active) context.with(active, next);
    else next();
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

/** Records spans with the SDK. @param traceOf see `openImportTraces` */
function openRecorder(tracer: Tracer, traceOf: (importId: string) => Promise<ImportTrace | undefined>): Recorder {
  const start = starter(tracer);
  return {
    open(name) {
      const span = start(name);
      return { end: (attributes, error) => endSpan(span, attributes, error) };
    },
    inSpan: (name, attributes, work) => runIn(start(name, attributes), work),
    async inImport(importId, name, attributes, work) {
      const found = await traceOf(importId);
      if (!found) return work();
      const oneIn = recordedOneIn(nextOf(found, name));
      if (oneIn === undefined) return context.with(found.parent, work);
      const about = { 'muster.import.id': importId, ...attributes, ...(oneIn > 1 ? { 'muster.one_in': oneIn } : {}) };
      return runIn(start(name, about, found.parent), work);
    },
    annotate(attributes) {
      trace.getActiveSpan()?.setAttributes({ ...attributes });
    },
    async ended(importId, state, seconds) {
      const startTime = Date.now() - 1000 * seconds;
      const found = await traceOf(importId);
      const attributes = { 'muster.import.id': importId, 'muster.import.state': state };
      if (found) tracer.startSpan('import.run', { startTime, attributes }, found.parent).end();
    },
    context() {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent;
    },
    ids: () => idsOf(trace.getActiveSpan()),
    statement: openStatements(tracer),
  };
}

function starter(tracer: Tracer) {
  return (name: SpanName, attributes?: Attributes & { 'muster.one_in'?: number }, parent = context.active()) =>
    tracer.startSpan(name, { kind: KINDS[name] ?? SpanKind.INTERNAL, attributes: { ...attributes } }, parent);
}

/** The number of the next span of this name, from 1. */
function nextOf({ counts }: ImportTrace, name: SpanName): number {
  const n = (counts.get(name) ?? 0) + 1;
  counts.set(name, n);
  return n;
}

async function runIn<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await context.with(trace.setSpan(context.active(), span), work);
    span.end();
    return result;
  } catch (error) {
    endSpan(span, undefined, error);
    throw error;
  }
}

function endSpan(span: Span, attributes: Attributes | undefined, error: unknown): void {
  span.setAttributes({ ...attributes });
  if (error !== undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', typeOf(error));
  }
  span.end();
}

/** The code or the class of an error. Its message may quote a user's data, so it is not recorded. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string' && CODE.test(code)) return code;
  return cause instanceof Error ? typeOf(cause) : error.name;
}

function idsOf(span: Span | undefined): TraceIds | undefined {
  if (!span) return undefined;
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/**
 * Reads the traces of imports.
 *
 * Guarantee: at most MOST_IMPORTS imports are kept in memory, and each is read once as long as it is used. A database
 * that cannot be read costs the spans of a moment, never the work.
 * @returns the trace of an import; undefined for one that was accepted without tracing
 */
function openImportTraces(db: Db): (importId: string) => Promise<ImportTrace | undefined> {
  const known = new Map<string, Promise<ImportTrace | undefined>>();

  /** The import that was used longest ago goes first. */
  function keep(importId: string, trace: Promise<ImportTrace | undefined>): void {
    known.delete(importId);
    known.set(importId, trace);
    const [oldest] = known.keys();
    if (known.size > MOST_IMPORTS && oldest !== undefined) known.delete(oldest);
  }

  return (importId) => {
    const trace =
      known.get(importId) ??
      readTrace(db, importId).catch(() => {
        known.delete(importId);
        return undefined;
      });
    keep(importId, trace);
    return trace;
  };
}

async function readTrace(db: Db, importId: string): Promise<ImportTrace | undefined> {
  const { rows } = await db.query<Pick<Imports, 'trace_context'>>('select trace_context from imports where id = $1', [
    importId,
  ]);
  const traceparent = rows[0]?.trace_context;
  if (!traceparent) return undefined;
  return { parent: propagation.extract(ROOT_CONTEXT, { traceparent }), counts: new Map() };
}

/**
 * Which spans of an import are recorded. A million users make thousands of batches and up to a million mails, and
 * collectors and people cannot read a trace of that size.
 * @param n the number of the span among the spans of its name, from 1
 * @returns 1 if it and its neighbours are all recorded, 4 if one in four is; undefined if it is not recorded
 */
export function recordedOneIn(n: number): number | undefined {
  const each = n < 2 * FIRST ? 1 : 2 ** Math.floor(Math.log2(n / FIRST));
  return n % each === 0 ? each : undefined;
}

/**
 * Records slow statements as spans. Fast ones are not recorded: a span for each would cost more than many of them.
 * @returns see `noteStatement`
 */
function openStatements(tracer: Tracer): (statement: unknown) => (() => void) | undefined {
  return (statement) => {
    // A COPY takes as long as its client sends.
    if (typeof (statement as { submit?: unknown }).submit === 'function') return undefined;
    const began = performance.now();
    const parent = context.active();
    return () => {
      const ms = performance.now() - began;
      if (ms < SLOW_MS) return;
      const summary = summaryOf(statement as string | { name?: string; text: string });
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary };
      const startTime = Date.now() - ms;
      tracer.startSpan(summary, { kind: SpanKind.CLIENT, startTime, attributes }, parent).end();
    };
  };
}

function summaryOf(statement: string | { name?: string; text: string }): string {
  if (typeof statement !== 'string' && statement.name) return statement.name;
  const text = typeof statement === 'string' ? statement : statement.text;
  return [VERB, TABLE]
    .map((part) => part.exec(text)?.[1]?.toLowerCase())
    .join(' ')
    .trim();
}
