import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { endpointOf } from '../../src/operate/open-tracing.ts';
import { samplerOf } from '../../src/operate/tracing.ts';
import { readConfig } from '../../src/platform/config.ts';

const endpoint = (env: Record<string, string>) => endpointOf(readConfig(env));
const BASE = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('tracing', () => {
  it('is off unless an endpoint or the exporter is set', () => {
    assert.equal(endpoint({}), undefined);
    assert.equal(endpoint({ OTEL_SERVICE_NAME: 'muster', OTEL_TRACES_SAMPLER: 'always_on' }), undefined);
    assert.equal(endpoint({ OTEL_TRACES_EXPORTER: 'otlp' }), 'http://localhost:4318/v1/traces');
  });

  it('is off where it is turned off, also with an endpoint', () => {
    assert.equal(endpoint({ ...BASE, OTEL_TRACES_EXPORTER: 'none' }), undefined);
    assert.equal(endpoint({ ...BASE, OTEL_SDK_DISABLED: 'true' }), undefined);
  });

  it('sends spans to /v1/traces below the endpoint, or to the URL for traces as it is', () => {
    assert.equal(endpoint(BASE), 'http://collector:4318/v1/traces');
    assert.equal(endpoint({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c/otlp/' }), 'https://c/otlp/v1/traces');
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/mine?key=1' };
    assert.equal(endpoint({ ...BASE, ...traces }), 'https://c/mine?key=1');
  });

  it('refuses what it does not support, naming every setting', () => {
    const env = {
      OTEL_TRACES_EXPORTER: 'zipkin',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_TRACES_SAMPLER: 'xray',
      OTEL_TRACES_SAMPLER_ARG: '2',
    };
    assert.throws(
      () => readConfig(env),
      ({ message }: Error) => Object.keys(env).every((name) => message.includes(`${name}: must be `)),
    );
  });

  it('has every sampler of the specification', () => {
    const described = (OTEL_TRACES_SAMPLER: string) =>
      samplerOf(readConfig({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: '0.25' })).toString();
    assert.equal(described('always_on'), 'AlwaysOnSampler');
    assert.equal(described('always_off'), 'AlwaysOffSampler');
    assert.equal(described('traceidratio'), 'TraceIdRatioBased{0.25}');
    assert.match(described('parentbased_always_on'), /^ParentBased\{root=AlwaysOnSampler/);
    assert.match(described('parentbased_always_off'), /^ParentBased\{root=AlwaysOffSampler/);
    assert.match(described('parentbased_traceidratio'), /^ParentBased\{root=TraceIdRatioBased\{0.25\}/);
  });
});
