/** In which language the pages of a sign-in are, and that it tells nothing about anybody. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { LANGUAGES } from '../../../src/platform/messages/catalogue.ts';
import { addHuman, mailCode } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient, comparable, hiddenOf, type Shown, type Visitor, visitor } from './visitor.ts';

const PASSWORD = 'correct horse';
/** A browser that prefers a language that there is no catalogue for. */
const ELSEWHERE = { 'accept-language': 'tlh' };

let api: TestApi;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
  clientId = await addClient(api);
});
after(() => api.stop());

/** Adds a user with a preferred language. */
async function person(language: string): Promise<string> {
  const userId = await addHuman(api, org.orgId, PASSWORD);
  await api.deps.pool.query('update users set preferred_language = $2 where id = $1', [userId, language]);
  return userId;
}

function languageOf({ text, headers }: Shown): string {
  const [, language = ''] = /<html lang="([^"]+)" dir="ltr">/.exec(text) ?? [];
  assert.equal(headers.get('content-language'), language);
  return language;
}

/** Signs in up to the page after the password. */
async function enter(by: Visitor, loginName: string, password = PASSWORD, headers = ELSEWHERE): Promise<Shown> {
  const path = await by.begin(clientId);
  const page = await by.get(path, headers);
  return by.post(path, { ...hiddenOf(page, 'password'), loginName, password }, headers);
}

describe('the language of a page', () => {
  it('is that of the browser, and English where it says nothing', async () => {
    const by = visitor(api);
    const german = await by.get('/ui/forgot', { 'accept-language': 'de-CH, en;q=0.5' });
    assert.equal(languageOf(german), 'de');
    assert.match(german.text, /<h1>Passwort vergessen\?<\/h1>/);
    assert.deepEqual(german.headers.get('vary')?.split(', '), ['Accept-Language', 'Cookie']);
    assert.equal(languageOf(await by.get('/ui/forgot', { 'accept-language': '*' })), 'en');
    assert.equal(languageOf(await by.get('/ui/no-such-page', { 'accept-language': 'de' })), 'de');
  });

  it('is chosen in the list at the foot, which keeps the rest of the address, and a cookie keeps the choice', async () => {
    const by = visitor(api);
    const page = await by.get('/ui/forgot?organization=1&ui_locales=xx');
    assert.equal(languageOf(page), 'en');
    assert.equal(page.headers.get('set-cookie'), null);
    assert.match(
      page.text,
      /<a href="\?organization=1&amp;ui_locales=de" lang="de" dir="ltr" hreflang="de">Deutsch<\/a>/,
    );
    assert.match(page.text, /hreflang="en" aria-current="true">English</);
    const chosen = await by.get('/ui/forgot?organization=1&ui_locales=de');
    assert.equal(languageOf(chosen), 'de');
    assert.match(
      chosen.headers.get('set-cookie') ?? '',
      /^muster_language=de; Max-Age=31536000; Path=\/; .*HttpOnly; SameSite=Lax$/,
    );
    assert.equal(languageOf(await by.get('/ui/verify', { 'accept-language': 'en' })), 'de');
    assert.equal(languageOf(await by.get('/oidc/v1/end_session/success', { accept: 'text/html' })), 'de');
  });

  it('is not kept when another site has the link', async () => {
    const by = visitor(api);
    const elsewhere = { 'sec-fetch-site': 'cross-site' };
    assert.equal(languageOf(await by.get('/ui/forgot?ui_locales=de', elsewhere)), 'de');
    assert.equal(languageOf(await by.get('/ui/forgot')), 'en');
  });

  it('is what the application asks for, until the person chooses another one on a page of this sign-in', async () => {
    const by = visitor(api);
    const path = await by.begin(clientId, { ui_locales: 'tlh de-AT en' });
    const page = await by.get(path, { 'accept-language': 'en' });
    assert.equal(languageOf(page), 'de');
    const fields = { ...hiddenOf(page, 'password'), loginName: 'nobody' };
    assert.equal(languageOf(await by.post(path, fields, { 'accept-language': 'en' })), 'de');
    assert.equal(languageOf(await by.get(`${path}?ui_locales=en`)), 'en');
    assert.equal(languageOf(await by.post(path, fields)), 'en');
    const next = await by.begin(clientId, { ui_locales: 'de' });
    assert.equal(languageOf(await by.get(next)), 'de', 'another sign-in');
  });

  it('does not set the cookie where the application asks for it', async () => {
    const by = visitor(api);
    const wrong = await by.get('/oauth/v2/authorize?ui_locales=de', { accept: 'text/html' });
    assert.equal(languageOf(wrong), 'de');
    assert.doesNotMatch(wrong.headers.get('set-cookie') ?? '', /muster_language/);
  });

  it('is that of the user only once they have proved who they are', async () => {
    const userId = await person('de');
    const unknown = await enter(visitor(api), 'nobody at all', 'wrong');
    const wrong = await enter(visitor(api), userId, 'wrong');
    assert.equal(languageOf(wrong), 'en');
    assert.equal(comparable(wrong).replaceAll(userId, 'nobody at all'), comparable(unknown));

    await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const by = visitor(api);
    const right = await enter(by, userId);
    assert.match(right.text, /<h1>Neues Passwort festlegen<\/h1>/);
    const path = await by.begin(clientId);
    const again = await by.post(
      path,
      { ...hiddenOf(await by.get(path), 'password'), loginName: userId, password: PASSWORD },
      ELSEWHERE,
    );
    const fields = { ...hiddenOf(again, 'change'), password: 'one of them', repeated: 'another one' };
    const differing = await by.post(path, fields, ELSEWHERE);
    assert.match(differing.text, /Die Passwörter stimmen nicht überein/);
    const short = await by.post(path, { ...fields, password: 'dragon', repeated: 'dragon' }, ELSEWHERE);
    assert.match(
      short.text,
      /Das Passwort muss mindestens 8 Zeichen haben\. Das Passwort darf keines der am häufigsten verwendeten Passwörter sein\./,
    );
  });

  it('says to a locked user what is wrong in their language, and to nobody else', async () => {
    const userId = await person('de');
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [userId]);
    assert.equal(languageOf(await enter(visitor(api), userId, 'wrong')), 'en');
    assert.match((await enter(visitor(api), userId)).text, /<h1 [^>]*>Ihr Konto ist gesperrt<\/h1>/);
  });

  it('is that of the user for whoever has the link from their mail, and for no other', async () => {
    const userId = await person('de');
    const { code } = await mailCode(api, userId, 'initialise');
    for (const page of ['init', 'verify']) {
      const address = (entered: string) => `/ui/${page}?${new URLSearchParams({ userId, code: entered })}`;
      assert.equal(languageOf(await visitor(api).get(address('ABCDEFGHIJKL'), ELSEWHERE)), 'en');
      assert.equal(languageOf(await visitor(api).get(address(code), ELSEWHERE)), 'de');
    }
  });

  it('of the documentation is English', async () => {
    const page = await visitor(api).get('/docs', { 'accept-language': 'de' });
    assert.match(page.text, /<html lang="en" dir="ltr">/);
  });

  it('is named in discovery', async () => {
    const { body } = await api.call('GET', '/.well-known/openid-configuration');
    assert.deepEqual(body.ui_locales_supported, LANGUAGES);
  });
});

it('a name that looks like a message stays text', async () => {
  const name = '{x, plural, other {}} <b>';
  const by = visitor(api);
  const path = await by.begin(await addClient(api, { name }));
  const page = await by.get(path, { 'accept-language': 'de' });
  assert.match(page.text, /<strong>\{x, plural, other \{\}\} &lt;b&gt;<\/strong>/);
});
