/** Providers, and sign-ins at them on a page of the program's own. */
import { expect, step } from './steps.js';

const [, , baseUrl, token, idpId] = process.argv;

/** Reads and removes providers of an organization and of the instance. They are added by operations of our own. */
export async function callProviders(management, admin, orgId) {
  const provider = { type: 'google', name: 'Google of Names', clientId: 'names', clientSecret: 'a secret' };
  const inOrg = { headers: { 'x-zitadel-orgid': orgId } };
  const { idpId: id } = await step('a provider', () => own('POST', '/management/v1/idps', orgId, provider));
  const { idp } = await step('GetOrgIDPByID', () => management.getOrgIDPByID({ id }, inOrg));
  expect('the provider', idp?.id === id && idp.name === provider.name && idp.details?.resourceOwner === orgId);
  await step('RemoveOrgIDP', () => management.removeOrgIDP({ idpId: id }, inOrg));
  const more = { ...provider, aliases: [] };
  const { idpId: above } = await step('a provider of the instance', () => own('POST', '/admin/v1/idps', orgId, more));
  const shown = await step('GetIDPByID', () => admin.getIDPByID({ id: above }));
  expect('the provider of the instance', shown.idp?.id === above && shown.idp.name === provider.name);
  await step('RemoveIDP', () => admin.removeIDP({ idpId: above }));
}

/** An account at a provider that is linked signs in, on a page of the program's own. */
export async function callIntents(users, sessions, { how, orgId, userId }) {
  const on = (name, call) => step(`${how} ${name}`, call);
  const pages = `https://${how}.names.example`;
  await on('the allowed URLs', () => allow(orgId, pages));
  await on('AddIDPLink', () => users.addIDPLink({ userId, idpLink: { idpId, userId: '7001', userName: 'cora' } }));
  const links = await on('ListIDPLinks', () => users.listIDPLinks({ userId }));
  expect('the link', links.details?.totalResult === 1n && links.result[0].idpId === idpId);

  const urls = { successUrl: `${pages}/done`, failureUrl: `${pages}/failed` };
  const started = await on('StartIdentityProviderIntent', () =>
    users.startIdentityProviderIntent(
      { idpId, content: { case: 'urls', value: urls } },
      { headers: { 'x-zitadel-orgid': orgId } },
    ),
  );
  expect(`${how} next step`, started.nextStep?.case === 'authUrl');
  const { origin, pathname, searchParams: back } = await comeBack(started.nextStep?.value);
  expect(`${how} return`, origin + pathname === urls.successUrl && back.get('user') === userId);
  const [idpIntentId, idpIntentToken] = [back.get('id') ?? '', back.get('token') ?? ''];
  const told = await on('RetrieveIdentityProviderIntent', () =>
    users.retrieveIdentityProviderIntent({ idpIntentId, idpIntentToken }),
  );
  expect(`${how} intent`, told.userId === userId && told.idpInformation?.userId === '7001');
  const { sessionId, sessionToken } = await on('CreateSession by an intent', () =>
    sessions.createSession({
      checks: { user: { search: { case: 'userId', value: userId } }, idpIntent: { idpIntentId, idpIntentToken } },
    }),
  );
  const { session } = await on('GetSession of an intent', () => sessions.getSession({ sessionId, sessionToken }));
  expect(`${how} factor`, session?.factors?.user?.id === userId && session?.factors?.intent?.verifiedAt);
  await on('RemoveIDPLink', () => users.removeIDPLink({ userId, idpId, linkedUserId: '7001' }));
}

/** Lets pages of this origin have the results of intents, which is no setting of ZITADEL. */
function allow(orgId, origin) {
  return own('PUT', '/management/v1/orgs/me/allowed_urls', orgId, { allowedUrls: [origin] });
}

/** Calls an operation that ZITADEL does not have. */
async function own(method, path, orgId, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-zitadel-orgid': orgId };
  const response = await fetch(baseUrl + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** The browser visits the provider; returns where it is sent on the way back to the program. */
async function comeBack(authUrl) {
  const url = new URL(authUrl ?? baseUrl);
  url.searchParams.set('login_hint', 'cora');
  const from = await fetch(url, { redirect: 'manual' });
  const back = await fetch(from.headers.get('location') ?? baseUrl, { redirect: 'manual' });
  return new URL(back.headers.get('location') ?? baseUrl);
}
