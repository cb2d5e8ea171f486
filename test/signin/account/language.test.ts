/** `/account` in German: as the browser asks for it, or else as the user has chosen. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addVerified } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { catalogue } from '../../support/catalogues.ts';
import { addProvider } from '../../support/idp-rows.ts';
import { hiddenOf, type Shown, type Visitor, visitor } from '../pages/visitor.ts';
import { alertOf } from '../providers/traveller.ts';
import { type AtAccount, atAccount, doneOf } from './person.ts';

const PASSWORD = 'correct horse battery';
const SECTIONS = [
  ...['', 'profile', 'email', 'phone', 'password', 'authenticators', 'sent-codes', 'recovery-codes'],
  ...['passkeys', 'links', 'logins', 'data', 'delete', 'confirm'],
];

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({
    env: { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' },
    host: 'localhost',
  });
  org = await api.setupOrg();
  await api.call('PUT', '/management/v1/policies/login', { deleteAccount: true }, { orgId: org.orgId });
  await addProvider(api.deps.pool, { name: 'Google' });
});
after(() => api.stop());

async function person(language: string): Promise<{ userId: string; at: AtAccount }> {
  const userId = await addVerified(api, org.orgId, PASSWORD);
  await api.deps.pool.query('update users set preferred_language = $2, phone = $3 where id = $1', [
    userId,
    language,
    '+4915112345678',
  ]);
  return { userId, at: await atAccount(api, userId, PASSWORD) };
}

/** The texts of the sections that are of these pages alone, without those that German has too. */
function english(): string[] {
  const german = catalogue('de');
  return [...catalogue('en')]
    .filter(([key, text]) => /^(account|factor)\./.test(key) && german.get(key) !== text)
    .map(([, text]) => text)
    .filter((text) => !text.includes('{') && !text.includes('<'));
}

/** What a page shows, between its tags. */
function shownOf(markup: string): string[] {
  return markup
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .split(/<[^>]*>/)
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

describe('the pages of an account in German', () => {
  it('say no text in English', async () => {
    const { at } = await person('de');
    const known = new Set(english());
    const found: string[] = [];
    for (const section of SECTIONS) {
      const { text, status } = await at.open(section);
      assert.equal(status, 200, section);
      for (const shown of shownOf(text)) if (known.has(shown)) found.push(`${section}: ${shown}`);
    }
    assert.deepEqual(found, []);
    assert.match(
      (await at.open('logins')).text,
      /Angemeldet am <time datetime="[^"]*">\d\d\.\d\d\.\d{4}, \d\d:\d\d UTC</,
    );
    assert.match((await at.open('links')).text, /Mit Google verknüpfen/);
  });

  it('say what is wrong and what was done in German', async () => {
    const { at } = await person('de');
    const page = await at.open('phone');
    assert.match(alertOf(await at.send(page, 'phone', 'change', { phone: '12' })), /^Geben Sie eine Telefonnummer/);
    const password = await at.send(await at.open('password'), 'password', 'change', {
      password: 'another horse battery',
      repeated: 'another horse battery',
      currentPassword: 'wrong',
    });
    assert.equal(alertOf(password), 'Das aktuelle Passwort ist falsch.');
  });

  it('say in each language, with its grammar, what a person does not have and which codes they get', async () => {
    const { userId, at } = await person('fr');
    const { text } = await at.open();
    const found = [...text.matchAll(/href="\/account\/([a-z-]+)">[^<]*<\/a><span>(Aucune?|Désactivés)<\/span>/g)];
    assert.deepEqual(
      found.map(([, section, said]) => `${section}: ${said}`),
      ['authenticators: Aucune', 'sent-codes: Désactivés', 'recovery-codes: Aucun', 'passkeys: Aucune', 'links: Aucun'],
    );
    await api.deps.pool.query('insert into user_factors (user_id, otp_email, otp_sms) values ($1, true, true)', [
      userId,
    ]);
    await api.deps.pool.query('update users set preferred_language = $2 where id = $1', [userId, 'ja']);
    assert.match((await at.open()).text, /<span>メールとSMS<\/span>/);
  });

  it('keep the language that the person saves for the pages before the next sign-in, and a choice of the list until then', async () => {
    const { at } = await person('fr');
    const page = await at.open('profile');
    const fields = {
      ...hiddenOf(page, 'save'),
      givenName: 'Änne',
      familyName: 'Exämple',
      nickName: '',
      displayName: '',
    };
    const cookieOf = async (preferredLanguage: string) => {
      const { status, headers } = await at.post('profile', { ...fields, preferredLanguage });
      assert.equal(status, 303, preferredLanguage);
      return headers.getSetCookie().find((line) => line.startsWith('muster_language='));
    };
    assert.equal(await cookieOf('fr'), undefined, 'the language stays');
    assert.match(
      (await cookieOf('it')) ?? '',
      /^muster_language=it; Max-Age=31536000; Path=\/; .*HttpOnly; SameSite=Lax$/,
    );
    assert.equal(await cookieOf(''), undefined, 'no language');
    assert.equal(await cookieOf('rm'), undefined, 'a language without a catalogue');
    assert.match((await at.open('profile')).text, /<html lang="it"/);
  });

  it('ask for the family name first where people say it first', async () => {
    const orderIn = async (language: string) => {
      const { at } = await person(language);
      return [...(await at.open('profile')).text.matchAll(/<input [^>]*name="(\w+Name)"/g)].map(([, name]) => name);
    };
    for (const language of ['ja', 'zh-TW']) {
      assert.deepEqual(await orderIn(language), ['familyName', 'givenName', 'nickName', 'displayName'], language);
    }
    assert.deepEqual(await orderIn('de'), ['givenName', 'familyName', 'nickName', 'displayName']);
  });

  it('follow the language that the person chooses, and offer one that is stored and not in the list', async () => {
    const { userId, at } = await person('rm-x-foo');
    const page = await at.open('profile');
    assert.match(page.text, /<option value="rm-x-foo" selected lang="rm-x-foo">/);
    assert.match(page.text, /<option value="de" lang="de">Deutsch</);
    const names = { givenName: 'Änne', familyName: 'Exämple', nickName: '', displayName: '' };
    const saved = await at.send(page, 'profile', 'save', { ...names, preferredLanguage: 'de' });
    assert.equal(doneOf(saved), 'Ihre Änderungen sind gespeichert.');
    const refused = await at.send(saved, 'profile', 'save', { ...names, preferredLanguage: 'de', givenName: ' ' });
    assert.equal(alertOf(refused), 'Der Vorname muss 1 bis 200 Zeichen haben.');
    const { rows } = await api.deps.pool.query('select preferred_language from users where id = $1', [userId]);
    assert.deepEqual(rows, [{ preferred_language: 'de' }]);
  });
});

describe('a sign-in that the pages of an account ask for', () => {
  const ENGLISH = { 'accept-language': 'en', 'sec-fetch-site': 'cross-site' };

  /** The page of the sign-in, as the browser is led to it. */
  async function signInFor(by: Visitor, path: string, headers: Record<string, string>): Promise<Shown> {
    let shown = await by.get(path, headers);
    for (let hops = 0; hops < 3 && shown.status === 303; hops++) {
      const location = new URL(shown.headers.get('location') ?? '', api.url);
      shown = await by.get(location.pathname + location.search, {
        'accept-language': headers['accept-language'] ?? '',
      });
    }
    assert.match(shown.text, /name="loginName"/);
    return shown;
  }

  it('is in the language that the link to the page asks for, which is not kept', async () => {
    const by = visitor(api);
    const page = await signInFor(by, '/account/profile?ui_locales=tlh+de', ENGLISH);
    assert.match(page.text, /<html lang="de"/);
    assert.match((await by.get('/ui/forgot', { 'accept-language': 'en' })).text, /<html lang="en"/);
  });

  it('is in the language of the browser where the link asks for none', async () => {
    assert.match((await signInFor(visitor(api), '/account', ENGLISH)).text, /<html lang="en"/);
    const page = await signInFor(visitor(api), '/account?ui_locales=tlh', { 'accept-language': 'pl' });
    assert.match(page.text, /<html lang="pl"/);
  });

  it('is in the language that the person reads, where it has to be a recent one', async () => {
    const { at } = await person('sv');
    await at.age(3600);
    assert.match((await at.open('passkeys')).text, /<html lang="sv"/);
  });
});
