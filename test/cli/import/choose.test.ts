import assert from 'node:assert/strict';
import test from 'node:test';
import { describeFiles } from '../../../src/cli/import/choose.ts';
import { SOURCES } from '../../../src/sources/registry.ts';
import { auth0 } from '../../../src/sources/systems/auth0.ts';
import { devise } from '../../../src/sources/systems/devise.ts';

const none = { files: [], isGuess: false, close: async () => {} };

test('an import names the hash parameters that a system may need, until they are given', () => {
  const asking = SOURCES.filter(({ hashConfig }) => hashConfig !== undefined);
  assert.ok(asking.length > 0);
  for (const source of asking) {
    const [line, ...others] = describeFiles({ ...none, source }, {});
    assert.deepEqual(others, []);
    assert.match(line as string, /^Without --hash-config FILE\. [A-Z].{20,}\.$/);
    assert.deepEqual(describeFiles({ ...none, source }, { hashConfig: 'given' }), []);
    assert.deepEqual(describeFiles({ ...none, source }, { pepperEnv: 'PEPPER' }), []);
  }
  assert.deepEqual(describeFiles({ ...none, source: auth0 }, {}), []);
});

test('an import of Devise says how to give the pepper', () => {
  assert.match(
    describeFiles({ ...none, source: devise }, {}).join(),
    /config\.pepper, the import needs it \(--pepper-env\)/,
  );
});
