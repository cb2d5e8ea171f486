/** The Helm chart, with the values of each file in `deploy/helm`. */
import test from 'node:test';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { checkContents } from './contents.ts';
import { checkOptions } from './options.ts';
import { checkValidity } from './valid.ts';

// In one file, so that one process builds Helm.
test('the chart', async (t) => {
  if (!requireOrSkip(t, 'go') || !requireOrSkip(t, 'python')) return;
  await t.test('is valid', checkValidity);
  await t.test('runs the image, and has the files of deploy/', checkContents);
  await t.test('does what its options say', checkOptions);
});
