/** What the page of a remedy says and offers, for the users that it would help. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remedyPage } from '../../src/console/imports/fix.ts';
import type { CountedCause, FixAnswer } from '../../src/contract/import-types.ts';
import type { Remedy } from '../../src/contract/remedies.ts';

const at = (path: string) => `/console${path}`;

function pageOf(remedy: Remedy, preview: FixAnswer | undefined, problem?: string): string {
  const cause = { cause: 'c', field: 'user.email.email', message: 'is wrong', count: 3 } as CountedCause;
  return remedyPage(at, { importId: '7', cause, remedy, domain: '', preview, problem }).markup;
}

test('a remedy that helps nobody cannot be applied', () => {
  const none = pageOf('trim-email', { changed: 0, unchanged: 3, next: null });
  assert.match(none, /It helps none of these users\..*href="\/console\/imports\/7\/fix">Back to the causes/s);
  assert.doesNotMatch(none, /<form|Apply/);
  assert.match(pageOf('trim-email', { changed: 0, unchanged: 3, next: 9 }), /<form/);
});

test('a remedy says whether users are corrected or left out', () => {
  const some = { changed: 2, unchanged: 1, next: null };
  assert.match(pageOf('trim-email', some), /2 will be corrected\..*1 cannot be helped.*Apply to 2/s);
  assert.match(pageOf('keep-first', some), /2 will be left out\./);
});

test('a domain that is refused is linked to why', () => {
  const page = pageOf('user-name-as-email', undefined, 'The domain is not valid.');
  assert.match(page, /role="alert" id="problem">The domain is not valid\.</);
  assert.match(page, /<input id="domain" [^>]*aria-invalid="true" aria-describedby="problem domain-hint">/);
});

test('a long value of an example is shown by its ends, with its length', () => {
  const examples = [{ index: 0, userName: 'ann', before: `${'a'.repeat(240)}z`, after: `${'a'.repeat(199)}…` }];
  const page = pageOf('shorten-name', { changed: 1, unchanged: 0, next: null, examples } as unknown as FixAnswer);
  assert.match(
    page,
    /data-label="Before">a{30} … a{19}z \(241 characters\)<.*data-label="After">a{30} … a{19}… \(200 characters\)</s,
  );
});

test('users of an example are told apart, and those who are left out have no value before', () => {
  const user = { orgId: 'acme', userName: 'ann' };
  const out = [5, 85].map((index) => ({ ...user, index, userId: `a-${index}` }));
  const page = (remedy: Remedy, examples: object[]) =>
    pageOf(remedy, { changed: 2, unchanged: 0, next: null, examples } as unknown as FixAnswer);
  assert.match(page('keep-first', out), /ann<div class="soft small">no. 6 · a-5<.*no. 86 · a-85<.*left out</s);
  assert.doesNotMatch(page('keep-first', out), /Before/);
  const better = [{ ...out[0], field: 'user.userName', before: 'ann', after: 'ann@acme.example' }];
  assert.match(page('email-as-user-name', better), /data-label="Before">ann<.*data-label="After">ann@acme/s);
});
