/** docs/operations.md lists the settings that the program reads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { readConfig } from '../../src/platform/config.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('every setting is in the operations guide, and the roles of a worker with it', () => {
  const guide = read('docs/operations.md');
  const settings = [...read('src/platform/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(
    ([, name]) => name as string,
  );
  assert.ok(settings.length > 20, settings.join());
  assert.deepEqual(
    settings.filter((name) => !guide.includes(`\`${name}\``)),
    [],
  );
  assert.ok(guide.includes(`| \`WORKER_ROLES\` | \`${readConfig({}).WORKER_ROLES.join(',')}\` |`));
});
