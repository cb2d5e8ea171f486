import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { baseEnv } from '../support/processes/base-env.ts';

const FILE = fileURLToPath(new URL('loads.ts', import.meta.url));

/** The packages that tracing loads with this environment. */
async function loaded(env: Record<string, string>): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [FILE], { env: { ...baseEnv(), ...env } });
  return stdout.split('\n').filter(Boolean);
}

it('loads OpenTelemetry only if tracing is configured', async () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const [off, disabled, on] = await Promise.all([
    loaded({}),
    loaded({ ...endpoint, OTEL_SDK_DISABLED: 'true' }),
    loaded(endpoint),
  ]);
  assert.deepEqual([off, disabled], [[], []]);
  assert.ok(on?.includes('@opentelemetry/sdk-trace'), on?.join());
});
