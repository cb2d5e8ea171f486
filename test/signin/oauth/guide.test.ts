/** The commands of docs/oauth.md, against a real service. */
import { after, before, test } from 'node:test';
import { startApi, type TestApi } from '../../support/api.ts';
import { runGuide } from '../../support/guide.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

test('the commands of docs/oauth.md work in their order in an empty folder', async (t) => {
  if (!requireOrSkip(t, 'bash')) return;
  await runGuide(api, {
    page: 'oauth.md',
    // They need a person, who is at a mailbox or a phone.
    notRun: ['/v2beta/sessions'],
    programs: { 'assertion.mjs': 'createSign' },
  });
});
