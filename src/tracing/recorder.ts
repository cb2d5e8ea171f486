/** Records spans with the SDK of OpenTelemetry. What they may contain is in src/spans.ts. */
import { context, propagation, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import type { Attributes, Recorder, SpanName, TraceIds } from '../spans.ts';
import type { ImportTrace } from './import-traces.ts';
import { openStatements } from './statements.ts';
import { recordedOneIn } from './thinning.ts';

/** Others are internal. */
const KINDS: Partial<Record<SpanName, SpanKind>> = {
  'import.dispatch': SpanKind.PRODUCER,
  'import.batch': SpanKind.CONSUMER,
  'mail.send': SpanKind.CLIENT,
  'webhook.send': SpanKind.CLIENT,
};

/** @param traceOf see `openImportTraces` */
export function openRecorder(
  tracer: Tracer,
  traceOf: (importId: string) => Promise<ImportTrace | undefined>,
): Recorder {
  const start = (name: SpanName, attributes?: Attributes & { 'muster.one_in'?: number }, parent = context.active()) =>
    tracer.startSpan(name, { kind: KINDS[name] ?? SpanKind.INTERNAL, attributes: { ...attributes } }, parent);

  return {
    open(name) {
      const span = start(name);
      return { end: (attributes, error) => endSpan(span, attributes, error) };
    },
    inSpan: (name, attributes, work) => runIn(start(name, attributes), work),
    async inImport(importId, name, attributes, work) {
      const found = await traceOf(importId);
      if (!found) return work();
      const n = (found.counts.get(name) ?? 0) + 1;
      found.counts.set(name, n);
      const oneIn = recordedOneIn(n);
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

export function idsOf(span: Span | undefined): TraceIds | undefined {
  if (!span) return undefined;
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
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

const CODE = /^[A-Z0-9_]{2,40}$/;

/** The code or the class of an error. Its message may quote a user's data, so it is not recorded. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string' && CODE.test(code)) return code;
  return cause instanceof Error ? typeOf(cause) : error.name;
}
