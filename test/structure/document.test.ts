/** What `npm run document` writes is as it writes it now. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { WRITTEN } from '../contract/print-document.ts';

for (const [file, text] of WRITTEN) {
  const name = relative('.', fileURLToPath(file));
  test(name, () => {
    const isCurrent = text() === readFileSync(file, 'utf8');
    assert.ok(
      isCurrent,
      `${name} is stale: run \`npm run document\`, and see with \`git diff\` whether you meant the change.`,
    );
  });
}
