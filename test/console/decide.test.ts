/** What the step Decide says about who will be imported, and what it offers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecideView, decideStep } from '../../src/console/new-import/decide.ts';
import { sizeText } from '../../src/console/texts/language.ts';
import { WAYS } from '../../src/contract/sign-in.ts';
import { inLanguage } from '../../src/platform/messages/catalogue.ts';

const FRAME = {
  consoleUrl: (path: string) => `/console${path}`,
  ...{ importId: '7', step: 'decide' as const, files: [], isOpen: true, query: '' },
};

const PLAN = {
  ...{
    source: '',
    encoding: '',
    sheet: '',
    mapping: {},
    hashFormat: '',
    withoutEmail: false,
    passwordSource: '',
    others: {},
  },
  ...{ timeout: '1h', mails: 'none', onExisting: 'fail', enterpriseMailCodes: true },
};
const DAY_MS = 24 * 3600_000;

const MAILING = {
  ...{ from: 'Acme <no-reply@acme.example>', domain: 'acme.example', server: 'SMTP', spf: 'FOUND', language: 'en' },
  ...{ orgId: 'acme', orgs: [{ orgId: 'acme', name: 'Acme Shop', mails: 4 }], moreOrgs: 0 },
  kinds: { verification: 0, initialisation: 3, passkey: 1 },
  mails: [],
};

const MAILS = {
  mails: [
    { kind: 'verification', language: 'en', users: 0, subject: 'Confirm it', text: 'Hello,', validForSeconds: 259_200 },
    {
      kind: 'initialisation',
      language: 'en',
      users: 3,
      subject: 'Set it up',
      text: 'Hello,',
      validForSeconds: 259_200,
    },
    { kind: 'passkey', language: 'de', users: 1, subject: 'Einladung', text: 'Guten Tag,', validForSeconds: 259_200 },
  ],
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
    plan: PLAN,
    causes: { failed: counts.failed, corrected: 0, causes: [], moreCauses: 0 },
    ...{ updates: 0, names: [], mailRate: 0, command: '', problem: undefined, passwordSource: undefined },
    ...{ mailing: MAILING, tried: undefined, earlier: [] },
    ...{ orgNames: new Map([['acme', 'Acme Shop']]), undoMs: 365 * DAY_MS },
    ...more,
    check: {
      ...{ importId: '8', orgs: [], usersPerSecond: 0, counts: { skipped: 0, undone: 0, pending: 0, ...counts } },
      ...(more.check as object),
    },
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
  assert.match(page, /<caption class="sr">Changed, or not readable<\/caption>.*The phone is no number/s);
});

test('users whom the check did not reach are not called skipped', () => {
  const page = pageOf({ total: 10, succeeded: 4, failed: 1 }, { check: { importId: '8', counts: CUT_SHORT } });
  assert.match(page, /<dt>Skip<\/dt><dd>2<\/dd>/);
  assert.match(page, /<dt>Not checked<\/dt><dd>3<\/dd>/);
  assert.match(page, /The check ended before it reached 3 users.*<button class="quiet">Check again</s);
  assert.doesNotMatch(pageOf({ total: 5, succeeded: 4, failed: 1 }), /Not checked|did not reach/);
});

const WAYS_OF_NOBODY = Object.fromEntries(WAYS.map((way) => [way, 0]));
const BAD_ADDRESS = {
  ...{ cause: '5f2b8c01', id: 'IMPORT-USER-INVALID', field: 'user.email.email', message: 'must be an address' },
  ...{ remedies: ['trim-email', 'leave-out'], count: 3, first: [] },
};
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
    /<dt>As before<\/dt><dd>30<\/dd>.*<dt>In another way<\/dt><dd>8<\/dd>.*<dt>Cannot sign in<\/dt><dd>2</s,
  );
  assert.match(page, /href="\/console\/imports\/8\?signIn=MAIL_CODE#items">A code by email<\/a>/);
  assert.match(page, /href="\/console\/imports\/8\?signIn=NONE#items">Not at all<\/a>/);
  assert.match(
    page,
    /The import brings no password for the user\. <span class="soft small">8<.*The user is inactive\./s,
  );
  assert.match(page, /What is different for them.*<strong>8<\/strong> The import sends the user a mail\./s);
  assert(page.indexOf('Who will be able to sign in') < page.indexOf('>Passwords in the files<'));
});

test('says in the language of the page how many passkeys work, and names the languages of mails in it', () => {
  const passkeys = [
    { rpId: 'id.acme.example', passkeys: 1200, works: true },
    { rpId: 'old.example', passkeys: 1, works: false },
  ];
  const ways = { ...WAYS_OF_NOBODY, PASSWORD: 40 };
  const counts = { ways, causes: {}, causesByWay: {}, changes: {}, passkeys };
  const page = () => signInsOf(counts, { mailing: { ...MAILING, ...MAILS } });
  assert.match(
    page(),
    /<p>1,200 passkeys for id\.acme\.example will work\. 1 passkey for another host \(old\.example\) will not work\.<\/p>/,
  );
  const german = inLanguage({ browser: 'de' }, page);
  assert.match(
    german,
    /<p>1\.200 Passkeys für id\.acme\.example werden funktionieren\. 1 Passkey für einen anderen Host \(old\.example\) wird nicht funktionieren\.<\/p>/,
  );
  assert.match(german, /Englisch, 3 Benutzer/);
  assert.equal(
    inLanguage({ browser: 'de' }, () => sizeText(1.5 * 2 ** 30)),
    '1,5 GiB',
  );
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
  // What the files lack says nothing about users who got an address since.
  const withoutEmail = { id: 'x', message: 'none', count: 5, examples: [] };
  const summary = { hashes: [], broken: [], skipped: [], notes: [], withoutEmail };
  const draft = { files: [{ kind: 'users', name: 'users.csv' }], summary };
  const all = { ways: { ...WAYS_OF_NOBODY, PASSWORD: 40 }, causes: {}, causesByWay: {}, changes: {} };
  const missing = { ...BAD_ADDRESS, message: 'is required' };
  const causes = { failed: 5, corrected: 2, causes: [missing], moreCauses: 0 };
  assert.match(
    signInsOf(all, { draft, causes }),
    /3 users fail, as they have no email address.*\/options">Import users without/s,
  );
  const plan = { timeout: '1h', mails: 'none', onExisting: 'fail', withoutEmail: true };
  assert.doesNotMatch(signInsOf(all, { draft, plan, causes }), /Import users without/);
  assert.doesNotMatch(signInsOf(all, { draft }), /Import users without/);
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

test('the sentence on top says how many can be imported, how they sign in, and who is left', () => {
  const signIn = {
    ways: { ...WAYS_OF_NOBODY, PASSWORD: 18_000, PASSWORD_SOURCE: 560, MAIL_CODE: 1230, NONE: 45 },
    causes: { PROVIDER_NOT_SET_UP: 1200, NO_PASSWORD: 30, NO_ADDRESS: 40, LOCKED: 5 },
    causesByWay: { MAIL_CODE: { PROVIDER_NOT_SET_UP: 1200, NO_PASSWORD: 30 }, NONE: { NO_ADDRESS: 40, LOCKED: 5 } },
    ...{ changes: {}, links: [{ name: 'google-oauth2', users: 1300, preset: 'google' }] },
  };
  const counts = { total: 20_000, succeeded: 19_835, failed: 165 };
  const check = { importId: '8', counts: { ...counts, skipped: 0, undone: 0, pending: 0 }, signIn };
  assert.equal(
    verdictOf(pageOf(counts, { check })),
    'warn: 19,835 of 20,000 users can be imported; 18,560 sign in with their old password; 1,200 used Google and sign ' +
      'in with a code by mail; 30 sign in with a code by mail; 5 are blocked; 40 cannot be reached; 165 fail.',
  );
});

/** Its colour and its text. */
function verdictOf(page: string): string {
  const [, look, text] = /<p class="notice verdict (\w+)" role="status">(.*?)<\/p>/.exec(page) ?? [];
  return `${look}: ${text}`;
}

test('the sentence is green if everybody gets in, yellow if somebody is left, red if most are', () => {
  const all = { ways: { ...WAYS_OF_NOBODY, PASSWORD: 40 }, causes: {}, causesByWay: {}, changes: {} };
  assert.equal(verdictOf(signInsOf(all)), 'good: All 40 users can be imported; 40 sign in with their old password.');
  const held = { ...all, ways: { ...WAYS_OF_NOBODY, NONE: 40 }, causesByWay: { NONE: { MAILS_HELD: 40 } } };
  assert.match(verdictOf(signInsOf(held)), /^warn: .*; 40 need a mail of this import to choose a password\.$/);
  const blocked = {
    ...all,
    ways: { ...WAYS_OF_NOBODY, PASSWORD: 39, NONE: 1 },
    ...{ causes: { INACTIVE: 1 }, causesByWay: { NONE: { INACTIVE: 1 } } },
  };
  assert.match(verdictOf(signInsOf(blocked)), /^good: .*; 1 is blocked\.$/);
  assert.match(
    verdictOf(pageOf({ total: 10, succeeded: 4, failed: 6 })),
    /^bad: 4 of 10 users can be imported; 6 fail/,
  );
  assert.match(verdictOf(pageOf({ total: 2, succeeded: 0, failed: 2 })), /^bad: None of 2 users can be imported/);
});

test('the sentence is not red where users are skipped, or were corrected, as somebody has chosen', () => {
  const of = (counts: { total: number; succeeded: number; skipped: number; failed: number }, corrected = 0) =>
    verdictOf(
      pageOf(counts, { causes: { failed: counts.failed, corrected, causes: [], moreCauses: 0 }, check: { counts } }),
    );
  const counts = { total: 40, succeeded: 0, skipped: 40, failed: 0 };
  assert.equal(of(counts), 'warn: Nobody is imported: all 40 users are skipped.');
  assert.equal(of({ ...counts, succeeded: 1, skipped: 39 }), 'good: 1 of 40 users can be imported; 39 are skipped.');
  assert.match(of({ ...counts, skipped: 30, failed: 10 }), /^warn: None of 40 users.*; 30 are skipped; 10 fail\.$/);
  assert.match(of({ ...counts, skipped: 10, failed: 30 }), /^bad: /);
  assert.match(of({ ...counts, skipped: 0, failed: 40 }, 40), /^warn: .*; 40 were corrected since\.$/);
});

test('it answers in the order in which a careful manager asks, with the command line last and folded', () => {
  const summary = { hashes: [], broken: [], notes: [], skipped: [{ id: 'x', message: 'A deleted user.', count: 3 }] };
  const draft = { files: [{ kind: 'users', name: 'users.csv' }], summary };
  const signIn = {
    ways: { ...WAYS_OF_NOBODY, PASSWORD: 38, NONE: 2 },
    ...{ causes: { INACTIVE: 2 }, causesByWay: { NONE: { INACTIVE: 2 } }, changes: {} },
  };
  const check = {
    ...{ importId: '8', counts: { ...COUNTS, skipped: 0, undone: 0, pending: 0 }, signIn, usersPerSecond: 2 },
    orgs: [{ orgId: 'acme', counts: { succeeded: 40 } }],
  };
  const page = pageOf(COUNTS, { check, draft, command: 'muster import' });
  const headings = [...page.matchAll(/<(?:h2|summary)[^>]*>(.*?)<\/(?:h2|summary)>/g)].map(([, text]) => text);
  assert.deepEqual(headings, [
    'Check of users.csv',
    'Where they go',
    'Users who already exist',
    'Who will be able to sign in',
    ...[
      'Passwords in the files',
      'Try one password',
      'Signing in',
      'Emails',
      'Blocked and left out',
      'How long it takes',
      'What can be undone',
    ],
    'The same on the command line',
  ]);
  assert.match(page, /<strong>40<\/strong> <bdi>Acme Shop<\/bdi> /);
  assert.match(page, /2 users are inactive, and stay so after the import.*3 records are left out: A deleted user\./s);
  assert.match(page, /Between 20 s and 1 min 20 s.*The check read 2 users per second/s);
  assert.match(page, /For 365 days after its end, an undo removes the 40 users/);
});

test('a cause has one best remedy; the others are folded', () => {
  const page = pageOf(
    { total: 5, succeeded: 2, failed: 3 },
    { causes: { failed: 3, corrected: 0, causes: [BAD_ADDRESS], moreCauses: 0 } },
  );
  assert.match(page, /class="button small" href="\/console\/imports\/7\/fix\/5f2b8c01\/trim-email"/);
  assert.match(page, /Other remedies<\/summary>.*fix\/5f2b8c01">.*fix\/5f2b8c01\/leave-out"/s);
});

test('the mails are shown with their sender, and it is said in red why they would not arrive', () => {
  const check = { mailKinds: { verification: 0, initialisation: 3 } };
  const pageWith = (mailing: object) => pageOf(COUNTS, { check, mailing: { ...MAILING, ...MAILS, ...mailing } });
  const page = pageWith({});
  assert.match(page, /<dt>Sender<\/dt><dd>Acme &lt;no-reply@acme\.example&gt;<.*<dd>3 days</s);
  assert.match(
    page,
    /<summary>Preview: <bdi>Set it up<\/bdi> <span class="soft small">English, 3 users<\/span><\/summary>/,
  );
  assert.match(
    page,
    /<summary>Preview: <bdi>Einladung<\/bdi> <span class="soft small">German, 1 user<\/span><\/summary>/,
  );
  assert.match(
    page,
    /<iframe class="mail" title="[^"]*: Einladung" src="\/console\/imports\/new\/7\/mails\/passkey\/de\?orgId=acme" sandbox="allow-popups allow-popups-to-escape-sandbox"/,
  );
  assert.match(page, /<pre class="mail" tabindex="0" lang="de">/);
  assert.match(page, /3 to choose a password.*1 to add a passkey/s);
  assert.doesNotMatch(page, /Confirm it|class="notice bad"/);
  assert.match(pageWith({ server: 'MAILBOX' }), /class="notice bad" role="alert">No mail server is set/);
  assert.match(pageWith({ spf: 'NONE' }), /class="notice bad" role="alert">acme\.example has no SPF record/);
  assert.match(pageWith({ spf: 'UNKNOWN' }), /class="notice warn" role="status">DNS did not say in time/);
  assert.doesNotMatch(
    pageOf(COUNTS, { mailing: { ...MAILING, kinds: undefined, server: 'MAILBOX' } }),
    /No mail server/,
  );
});

test('a file that was imported before is said, with what can happen to its users', () => {
  const earlier = [
    {
      ...{ importId: '22', fileName: 'users.csv', startDate: '2026-05-03T09:30:00.000Z', users: 12_000, state: 'x' },
      orgIds: ['acme'],
    },
  ];
  const orgs = (orgId: string) => ({ importId: '8', orgs: [{ orgId, counts: { succeeded: 0 } }] });
  const taken = { ...BAD_ADDRESS, id: 'USER-ID-TAKEN', field: undefined, message: 'The user id is taken.', count: 40 };
  const counts = { total: 40, succeeded: 0, failed: 40 };
  const again = { earlier, causes: { failed: 40, corrected: 0, causes: [taken], moreCauses: 0 } };
  const page = pageOf(counts, { ...again, check: orgs('acme') });
  assert.match(
    page,
    /users\.csv was imported as <a href="\/console\/imports\/22">import 22<\/a> on <time [^>]*>2026-05-03 09:30 UTC<\/time> \(12,000 users\)/,
  );
  assert.match(page, /href="\/console\/imports\/new\/7\/check\?existing=skip[^"]*">Skip them</);
  assert.match(page, /href="\/console\/imports\/new\/7\/check\?existing=update[^"]*">Update them</);
  assert.match(page, /Chosen: Import anyway: users who exist fail/);
  const elsewhere = pageOf(counts, { ...again, check: orgs('other') });
  assert.match(
    elsewhere,
    /import 22.*40 users have the ids of users in another organization, so they fail whatever you/s,
  );
  assert.doesNotMatch(elsewhere, /Skip them|Import anyway/);
  const anew = pageOf(COUNTS, { earlier, check: orgs('other') });
  assert.match(anew, /import 22.*None of its users exists where this import goes: all are new users\./s);
  assert.doesNotMatch(anew, /Skip them|Import anyway/);
  assert.doesNotMatch(pageOf(COUNTS), /The same file again/);
});

test('a user whose name is taken by an earlier row is named with that row', () => {
  const first = [{ index: 266, orgId: 'acme', userId: 'x', userName: 'nick', earlier: 83 }];
  const causes = { failed: 3, corrected: 0, causes: [{ ...BAD_ADDRESS, first }], moreCauses: 0 };
  assert.match(pageOf({ total: 5, succeeded: 2, failed: 3 }, { causes }), />nick \(no\. 267, same as no\. 84\)</);
});

test('users who were corrected since do not fail, and are said', () => {
  const causes = { failed: 5, corrected: 2, causes: [BAD_ADDRESS], moreCauses: 0 };
  const page = pageOf({ total: 10, succeeded: 5, failed: 5 }, { causes });
  assert.equal(verdictOf(page), 'warn: 5 of 10 users can be imported; 3 fail; 2 were corrected since.');
  assert.match(page, /<dt>Fail<\/dt><dd><a href="#failing">3<\/a>.*<dt>Corrected<\/dt><dd>2</s);
});

test('figures that are zero are not shown, and that of those who fail leads to why', () => {
  const page = pageOf({ total: 10, succeeded: 10, failed: 0 });
  assert.doesNotMatch(page, /<dt>(?:Update|Skip|Fail|Not checked|Corrected)</);
  const causes = { failed: 3, corrected: 0, causes: [BAD_ADDRESS], moreCauses: 0 };
  const failing = pageOf({ total: 10, succeeded: 7, failed: 3 }, { causes });
  assert.match(failing, /<div class="bad"><dt>Fail<\/dt><dd><a href="#failing">3<\/a><.*<h2 id="failing">/s);
});

test('where another import has started since, the check should be done again', () => {
  assert.match(
    pageOf(COUNTS, { startedSince: true }),
    /class="notice warn"[^>]*>Another import has started since this check.*<button>Check again<.*<button class="quiet">Start import/s,
  );
  assert.match(pageOf(COUNTS), /<button>Start import/);
  assert.doesNotMatch(pageOf(COUNTS), /Another import/);
});

test('the mails are those of an organization that the person chooses, of a hundred by name and of others by id', () => {
  const check = { mailKinds: { verification: 0, initialisation: 3 } };
  const orgs = [
    { orgId: 'acme', name: 'Acme Shop', mails: 1200 },
    { orgId: 'b&b', name: '', mails: 1 },
  ];
  const pageWith = (mailing: object, more: object = {}) =>
    pageOf(COUNTS, { check, mailing: { ...MAILING, ...MAILS, orgs, ...mailing }, ...more });
  const page = pageWith({ orgId: 'b&b' });
  assert.match(page, /<form method="get" action="\/console\/imports\/new\/7\/decide#mails">/);
  assert.match(
    page,
    /<option value="acme">Acme Shop: 1,200 mails<\/option>\n<option value="b&amp;b" selected>b&amp;b: 1 mail<\/option>/,
  );
  assert.match(page, /src="\/console\/imports\/new\/7\/mails\/passkey\/de\?orgId=b%26b"/);
  assert.doesNotMatch(page, /name="mailsOfId"/);
  const many = pageWith({ orgId: 'far', moreOrgs: 1900 }, { mailsProblem: 'The import has no such organization.' });
  assert.match(many, /<input id="mailsOfId"[^>]* value="far"/);
  assert.match(many, /1,900 more organizations have fewer mails/);
  assert.match(many, /role="alert">The import has no such organization\./);
  assert.doesNotMatch(pageWith({ orgs: orgs.slice(0, 1) }), /name="mailsOf"/);
});

test('a name or a subject that runs from the right turns nothing that is beside it', () => {
  const name = 'شركة النور';
  const check = { mailKinds: { initialisation: 6 }, orgs: [{ orgId: 'nur', counts: { succeeded: 6 } }] };
  const orgs = [{ orgId: 'nur', name, mails: 6 }, ...MAILING.orgs];
  const [mail] = MAILS.mails;
  const mails = [{ ...mail, users: 6, language: 'ar', subject: `${name}: إعداد حسابك` }];
  const orgNames = new Map([['nur', name]]);
  const page = pageOf(COUNTS, { check, orgNames, mailing: { ...MAILING, orgId: 'nur', orgs, mails } });
  assert.match(page, /<strong>6<\/strong> <bdi>شركة النور<\/bdi> <span[^>]*>nur</);
  assert.match(page, /<option value="nur" selected>\u2068شركة النور\u2069: 6 mails</);
  assert.match(page, /<bdi>شركة النور: إعداد حسابك<\/bdi> <span[^>]*>Arabic, 6 users</);
});
