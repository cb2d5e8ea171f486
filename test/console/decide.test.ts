/** What the step Decide says about who will be imported, and what it offers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecideView, decideStep } from '../../src/console/new-import/decide.ts';
import { WAYS } from '../../src/contract/sign-in.ts';

const FRAME = {
  consoleUrl: (path: string) => `/console${path}`,
  ...{ importId: '7', step: 'decide' as const, files: [], isOpen: true, query: '' },
};

const CUT_SHORT = {
  ...{ total: 10, succeeded: 4, skipped: 2, failed: 1, undone: 0 },
  ...{ pending: 0, timedOut: 3, cancelled: 0 },
};

function pageOf(
  counts: { total: number; succeeded: number; failed: number },
  more: Record<string, unknown> = {},
): string {
  const view = {
    draft: { files: [], summary: { typeUserName: 1, broken: [], skipped: [], notes: [] } },
    plan: { timeout: '1h', mails: 'none' },
    check: { importId: '8', counts: { skipped: 0, undone: 0, pending: 0, ...counts } },
    causes: { failed: counts.failed, corrected: 0, causes: [], moreCauses: 0 },
    ...{ updates: 0, names: [], mailRate: 0, command: '', problem: undefined, passwordSource: undefined },
    ...more,
  } as unknown as DecideView;
  return decideStep(FRAME, view).markup;
}

test('the button says how many users will be imported', () => {
  assert.match(
    pageOf({ total: 50_000, succeeded: 50_000, failed: 0 }),
    /<button>Start import of 50,000 users<\/button>/,
  );
  assert.match(pageOf({ total: 50_000, succeeded: 49_907, failed: 93 }), />Start import of 49,907 of 50,000 users</);
  assert.match(pageOf({ total: 1, succeeded: 1, failed: 0 }), />Start import of 1 user</);
  const corrected = { causes: { failed: 3, corrected: 2, causes: [], moreCauses: 0 } };
  assert.match(pageOf({ total: 3, succeeded: 0, failed: 3 }, corrected), />Start import of 2 of 3 users</);
});

test('where nobody would be imported, it says so and offers first to correct them', () => {
  const page = pageOf({ total: 3, succeeded: 0, failed: 3 });
  assert.match(page, /Nobody would be imported/);
  assert.match(
    page,
    /class="button" href="\/console\/imports\/7\/fix">Correct the users<.*class="quiet">Start it all/s,
  );
  assert.doesNotMatch(page, /Start import of/);
  assert.doesNotMatch(pageOf({ total: 3, succeeded: 0, failed: 0 }), /Correct the users/);
});

test('one user signs in with the user name, several with theirs', () => {
  assert.match(
    pageOf({ total: 1, succeeded: 1, failed: 0 }),
    /1 user signs in with the user name, not with the address/,
  );
});

test('what the conversion changed is a table with a name', () => {
  const group = { id: 'x', message: 'The phone is no number', count: 2, examples: [{ file: 'users.csv', line: 4 }] };
  const summary = { hashes: [], broken: [group], skipped: [], notes: [] };
  const page = pageOf({ total: 1, succeeded: 1, failed: 0 }, { draft: { files: [], summary } });
  assert.match(page, /<caption class="sr">Changed, left out, or not readable<\/caption>.*The phone is no number/s);
});

test('users whom the check did not reach are not called skipped', () => {
  const page = pageOf({ total: 10, succeeded: 4, failed: 1 }, { check: { importId: '8', counts: CUT_SHORT } });
  assert.match(page, /<dt>Skip<\/dt><dd>2<\/dd>/);
  assert.match(page, /<dt>Not checked<\/dt><dd>3<\/dd>/);
  assert.match(page, /The check ended before it reached 3 users.*<button class="quiet">Check again</s);
  assert.doesNotMatch(pageOf({ total: 5, succeeded: 4, failed: 1 }), /Not checked|did not reach/);
});

const WAYS_OF_NOBODY = Object.fromEntries(WAYS.map((way) => [way, 0]));
const COUNTS = { total: 40, succeeded: 40, failed: 0 };

function signInsOf(signIn: object, more: Record<string, unknown> = {}): string {
  const check = { importId: '8', counts: { ...COUNTS, skipped: 0, undone: 0, pending: 0 }, signIn };
  return pageOf(COUNTS, { check, ...more });
}

test('who signs in with what they know comes first, then with something else, then who cannot, with their lists', () => {
  const page = signInsOf({
    ways: { ...WAYS_OF_NOBODY, PASSWORD: 30, MAIL_CODE: 8, NONE: 2 },
    causes: { NO_PASSWORD: 8, INACTIVE: 2 },
    causesByWay: { MAIL_CODE: { NO_PASSWORD: 8 }, NONE: { INACTIVE: 2 } },
    changes: { GETS_MAIL: 8 },
  });
  assert.match(
    page,
    /<dt>With what they know<\/dt><dd>30<\/dd>.*<dt>With something else<\/dt><dd>8<\/dd>.*<dt>Cannot sign in<\/dt><dd>2</s,
  );
  assert.match(page, /href="\/console\/imports\/8\?signIn=MAIL_CODE#items">A code by email<\/a>/);
  assert.match(page, /href="\/console\/imports\/8\?signIn=NONE#items">Not at all<\/a>/);
  assert.match(
    page,
    /The import brings no password for the user\. <span class="soft small">8<.*The user is inactive\./s,
  );
  assert.match(page, /What is different for them.*<strong>8<\/strong> The import sends the user a mail\./s);
  assert(page.indexOf('Who will be able to sign in') < page.indexOf('>Passwords<'));
});

test('each group has the remedies that help it, where the person may use them', () => {
  const codes = {
    ways: { ...WAYS_OF_NOBODY, MAIL_CODE: 3 },
    causes: { NO_PASSWORD: 3 },
    causesByWay: { MAIL_CODE: { NO_PASSWORD: 3 } },
    changes: {},
  };
  assert.doesNotMatch(signInsOf(codes), /Change how users sign in|Let a password source/);
  const summary = { hashes: [], broken: [], skipped: [], notes: [] };
  const draft = { files: [{ kind: 'users', name: 'users.csv' }], summary };
  const page = signInsOf(codes, { draft, policyHref: '/console/organizations/acme/login' });
  assert.match(page, /href="\/console\/organizations\/acme\/login">Change how users sign in</);
  assert.match(page, /href="\/console\/imports\/new\/7\/options">Let a password source verify their password</);
  assert.doesNotMatch(signInsOf(codes, { draft, passwordSource: 'Old shop' }), /Let a password source/);
  const held = {
    ways: { ...WAYS_OF_NOBODY, NONE: 3 },
    causes: { MAILS_HELD: 3 },
    causesByWay: { NONE: { MAILS_HELD: 3 } },
    changes: {},
  };
  assert.match(signInsOf(held), /href="#mails">Send the emails of the import</);
  assert.doesNotMatch(signInsOf(held, { policyHref: '/x' }), /Change how users sign in/);
});

test('users who would fail without an address can be imported without', () => {
  const withoutEmail = { id: 'x', message: 'none', count: 3, examples: [] };
  const summary = { hashes: [], broken: [], skipped: [], notes: [], withoutEmail };
  const draft = { files: [{ kind: 'users', name: 'users.csv' }], summary };
  const all = { ways: { ...WAYS_OF_NOBODY, PASSWORD: 40 }, causes: {}, causesByWay: {}, changes: {} };
  assert.match(
    signInsOf(all, { draft }),
    /3 users fail, as they have no email address.*\/options">Import users without/s,
  );
  const plan = { timeout: '1h', mails: 'none', withoutEmail: true };
  assert.doesNotMatch(signInsOf(all, { draft, plan }), /Import users without/);
});

test('what the export does not contain is said with what to do', () => {
  const missing = [{ id: 'X', what: 'secondFactor', message: 'There are no factors.', remedy: 'Join them.' }];
  const summary = { broken: [], skipped: [], notes: [], missing };
  const page = signInsOf(
    { ways: { ...WAYS_OF_NOBODY, PASSWORD: 40 }, causes: {}, causesByWay: {}, changes: {} },
    { draft: { files: [], summary } },
  );
  assert.match(page, /What this export does not contain.*There are no factors\.<div class="soft small">Join them\./s);
});

test('a link without a provider leads to the form that adds one, for those who may', () => {
  const links = [
    { name: 'google-oauth2', users: 3, preset: 'google' },
    { name: 'acme <sso>', users: 1 },
  ];
  const signIn = {
    ways: { ...WAYS_OF_NOBODY, MAIL_CODE: 4 },
    ...{ causes: {}, causesByWay: {}, changes: {}, links, moreLinks: 2 },
  };
  const page = signInsOf(signIn, { providersHref: '/console/organizations/acme/providers' });
  assert.match(page, /href="\/console\/organizations\/acme\/providers\/new\?type=google&amp;alias=google-oauth2"/);
  assert.match(page, /href="\/console\/organizations\/acme\/providers\/new\?alias=acme\+%3Csso%3E"/);
  const seen = signInsOf(signIn, { providersHref: undefined });
  assert.doesNotMatch(seen, /providers\/new/);
  assert.match(seen, /Add a provider of the type google\./);
});
