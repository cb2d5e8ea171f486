/** The commands of docs/imports.md, against a real service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { runGuide } from '../support/guide.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

/** What a command answers as written, as its place in the page is that of an import that still runs, or of a setting. */
const REFUSED: Readonly<Record<string, string>> = {
  '/_pause': 'IMPORT-STATE',
  '/_resume': 'IMPORT-STATE',
  '/_send_sign_in_mails': 'URL-TEMPLATE-NOT-ALLOWED',
};

let api: TestApi;
let workers: { stop(): Promise<unknown> }[];
before(async () => {
  api = await startApi();
  workers = [startConverter(api.deps), startImportWorker(api.deps), startDispatcher(api.deps)];
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await api.stop();
});

test('the commands of docs/imports.md work in their order in an empty folder', async (t) => {
  if (!requireOrSkip(t, 'bash')) return;
  const files = await runGuide(api, { page: 'imports.md', refused: REFUSED });
  assert(
    files.some((name) => /^import-\d+\.csv$/.test(name)),
    files.join(),
  );
});
