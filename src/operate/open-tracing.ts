/**
 * Tracing with OpenTelemetry, off unless configured (docs/operations.md, "Tracing").
 *
 * Guarantee: while it is off, no package of OpenTelemetry is loaded.
 */
import type { Config } from '../platform/config.ts';
import type { Tracing, TracingDeps } from './tracing.ts';

/** @returns undefined when tracing is not configured */
export async function openTracing(deps: TracingDeps): Promise<Tracing | undefined> {
  const url = endpointOf(deps.config);
  if (url === undefined) return undefined;
  const { startSdk } = await import('./tracing.ts');
  return startSdk(deps, url);
}

/** Where spans are sent: OTLP over HTTP, as the specification of OpenTelemetry derives the URL. */
export function endpointOf(config: Config): string | undefined {
  const { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT } = config;
  if (OTEL_SDK_DISABLED || OTEL_TRACES_EXPORTER === 'none') return undefined;
  if (config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const base = OTEL_EXPORTER_OTLP_ENDPOINT ?? (OTEL_TRACES_EXPORTER ? 'http://localhost:4318' : undefined);
  return base && `${base.replace(/\/+$/, '')}/v1/traces`;
}
