/** Opens and closes tracing as the environment says, and prints which packages that has loaded. */
import { registerHooks } from 'node:module';
import { pino } from 'pino';
import { openTracing } from '../../src/operate/open-tracing.ts';
import { readConfig } from '../../src/platform/config.ts';

const loaded: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') && !specifier.startsWith('node:')) loaded.push(specifier);
    return next(specifier, context);
  },
});
const db = { query: () => Promise.reject(new Error('No import was traced.')) } as never;
const tracing = await openTracing({ service: 'test', config: readConfig(), db, logger: pino({ level: 'silent' }) });
await tracing?.stop();
console.log(loaded.join('\n'));
