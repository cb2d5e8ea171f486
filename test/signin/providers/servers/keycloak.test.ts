/** A real Keycloak, with the users of its fixture, plays the provider of an organization. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { type TestContext } from 'node:test';
import { keycloakOrSkip, startKeycloak } from '../../../support/keycloak.ts';
import { Browser } from '../../../support/oauth.ts';

const FIXTURE = 'test/fixtures/ways/keycloak/acme-realm.json';
const CLIENT = {
  clientId: 'muster',
  secret: 'a secret of the client',
  redirectUris: ['*'],
  protocol: 'openid-connect',
};

/** Starts a Keycloak with the fixture's realm and a client for us; undefined if there is none. */
async function keycloakOf(t: TestContext) {
  const folder = await keycloakOrSkip(t);
  if (folder === undefined) return undefined;
  const realm = { ...JSON.parse(await readFile(FIXTURE, 'utf8')), sslRequired: 'none', clients: [CLIENT] };
  const keycloak = await startKeycloak(folder, realm);
  t.after(() => keycloak.stop());
  return keycloak;
}

/** Enters a name and the fixtures' password on Keycloak's page; returns where it redirects to. */
async function signInThere(browser: Browser, url: string, username: string): Promise<string> {
  const page = await browser.fetch(url);
  const html = await page.text();
  const action = /action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
  assert(action, html);
  const body = new URLSearchParams({ username, password: 'correct horse' });
  const answer = await browser.fetch(action, { method: 'POST', body });
  const location = answer.headers.get('location');
  assert(location, await answer.text());
  return location;
}

test('a real Keycloak', async (t) => {
  const keycloak = await keycloakOf(t);
  if (!keycloak) return;

  await t.test('imports the realm of the fixture, whose users sign in with their password there', async () => {
    const query = new URLSearchParams({
      client_id: CLIENT.clientId,
      redirect_uri: 'http://127.0.0.1:1/callback',
      response_type: 'code',
      scope: 'openid',
    });
    const url = `${keycloak.issuer}/protocol/openid-connect/auth?${query}`;
    const { searchParams } = new URL(await signInThere(new Browser(), url, 'kc-ann'));
    assert.equal(searchParams.get('iss'), keycloak.issuer);
    assert.match(searchParams.get('code') ?? '', /./);
  });
});
