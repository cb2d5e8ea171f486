/**
 * The console calls the API by the names of operations: no text in its code looks like a path of the API, whatever it is
 * called with, so that a path is written in the contract alone.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { OUTLINE } from '../../src/contract/outline.ts';

/** Files that may name paths, and why. */
const EXCEPT: Readonly<Record<string, string>> = {
  'src/console/browser/uploads.ts': 'runs in browsers, which load no file of the contract',
};

/** `/admin/v1` of `GET /admin/v1/imports`: the first two names of each path, or the first of `/v2beta/users`. */
const ROOTS = [
  ...new Set(Object.values(OUTLINE).map(({ path }) => /\/(?:v2beta|\w+\/v\d+)(?=\/)/.exec(path)?.[0] ?? '')),
];
/** What does not run; a `//` of an address is no comment. */
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm;

it('the console names no path of the API', () => {
  assert.deepEqual(ROOTS.toSorted(), ['/admin/v1', '/auth/v1', '/management/v1', '/v2beta']);
  const files = globSync('src/console/**/*.ts');
  assert(files.length > 50, `${files.length} files were found`);
  const found = files.filter((file) => {
    const code = readFileSync(file, 'utf8').replace(COMMENTS, '');
    return ROOTS.some((root) => code.includes(root));
  });
  assert.deepEqual(found, Object.keys(EXCEPT));
});
