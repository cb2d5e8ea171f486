import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { AUDIT_TYPES } from '../../src/contract/events.ts';

test('the documentation lists every type with its meaning', async () => {
  const page = await readFile(new URL('../../docs/audit.md', import.meta.url), 'utf8');
  const [, listed = ''] = page.split('## Types');
  const rows = [...listed.matchAll(/^\| `([a-z_]+\.[a-z_.]+)` \| (.*) \|$/gm)].map(([, type, meaning]) => [
    type,
    meaning,
  ]);
  assert.deepEqual(rows, Object.entries(AUDIT_TYPES));
});
