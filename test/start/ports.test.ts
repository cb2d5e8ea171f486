/** A port in use is reported in one sentence, by every process. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { launch, takenPort } from '../support/processes/launch.ts';
import { testDatabase } from '../support/stores/postgres.ts';

for (const [file, setting] of [
  ['src/start/api.ts', 'PORT'],
  ['src/start/api.ts', 'METRICS_PORT'],
  ['workers/all-in-one.ts', 'HEALTH_PORT'],
] as const) {
  test(`${file} reports in one sentence that its ${setting} is in use, and ends with status 1`, async (t) => {
    const database = await testDatabase(t);
    t.after(() => database.drop());
    const port = await takenPort(t);
    const env = {
      DATABASE_URL: database.url,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
      PORT: '0',
      [setting]: port,
    };
    const started = launch(t, file, env);
    assert.equal(await started.ended, 1);
    const sentence = `Port ${port} on 127.0.0.1 is in use by another program: stop that program, or set ${setting} to another port.\n`;
    assert.deepEqual([started.errors(), started.log()], [sentence, '']);
  });
}
