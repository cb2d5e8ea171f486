/**
 * The SDK of OpenTelemetry, with the exporter of OTLP over HTTP.
 *
 * Guarantee: nothing waits for the collector. While it is away or slow, at most OTEL_BSP_MAX_QUEUE_SIZE spans wait in
 * memory and further ones are dropped; the log has a line in ten seconds at most (src/repeats.ts).
 * On crash: the spans of the last seconds are lost.
 */
import { randomUUID } from 'node:crypto';
import { context, DiagLogLevel, diag, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { recordWith } from '../spans.ts';
import { withTimeout } from '../timeout.ts';
import { openImportTraces } from './import-traces.ts';
import './observed.ts';
import { openRecorder } from './recorder.ts';
import { traceRequests } from './requests.ts';
import { samplerOf } from './sampler.ts';
import type { Tracing, TracingDeps } from './tracing.ts';

/** How long a process that stops waits for the collector. */
const FLUSH_MS = 1000;

/** Starts to record. One at a time in a process. */
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
