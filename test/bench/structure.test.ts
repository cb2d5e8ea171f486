import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { it } from 'node:test';

it('npm run structure prints figures of this checkout, and knows the functions on the way of a user', () => {
  const figures = JSON.parse(execFileSync(process.execPath, ['bench/structure.ts', '--json'], { encoding: 'utf8' }));
  assert.equal(figures['way: names that are not declared'], 'none');
  assert.equal(figures['circles of files'], 0);
  assert.equal(figures['circles of folders inside a part'], 0);
  assert(figures['code files'] > 300 && figures.functions > 2000 && figures.settings > 50, JSON.stringify(figures));
  for (const [name, value] of Object.entries(figures)) assert(value !== '–', name);
});
