/**
 * How to call each operation of the table so that a permitted caller gets the status of its row: with a new resource to
 * act on, so that no call affects the next.
 */
import { unique } from '../support/answers.ts';
import { PASSWORD, type Place, type World } from './world.ts';

export interface Request {
  /** Path parameters by name. */
  params?: Record<string, string>;
  body?: unknown;
  /** For `x-service-orgid`. */
  orgId?: string;
  headers?: Record<string, string>;
}

type Make = (world: World, place: Place) => Request | Promise<Request>;

const profile = { firstName: 'Ann', lastName: 'Arbor' };
const verified = { email: 'ann@example.com', isEmailVerified: true };

/** Only a body. */
const plain =
  (body?: () => unknown): Make =>
  () => ({ body: body?.() });

/** On an organization named by the header. */
const onOrg =
  (body?: () => unknown): Make =>
  (_world, { orgId }) => ({ orgId, body: body?.() });

/** On a new organization, as the call would stop one that other calls need. */
const onNewOrg =
  (before?: { method: string; path: string }): Make =>
  async ({ api }, { target, orgId: missing }) => {
    if (target === 'missing') return { orgId: missing };
    const { body } = await api.call('POST', '/management/v1/orgs', { name: unique('Acme') });
    const named = { orgId: body.id as string };
    if (before) await api.call(before.method, `/management/v1/orgs/me${before.path}`, undefined, named);
    return named;
  };

/** On a new human. */
const onHuman =
  (body?: unknown, state?: string): Make =>
  async (world, place) => ({ params: { userId: await world.human(place, state) }, body });

/** On a new human who is adding a second factor. */
const onTotp =
  (body?: unknown): Make =>
  async (world, place) => ({ params: { userId: await world.withTotp(place) }, body });

/** On a new machine user; `more` adds further path parameters. */
const onMachine =
  (body?: unknown, more?: (world: World, userId: string) => Promise<Record<string, string>>): Make =>
  async (world, place) => {
    const userId = await world.machine(place);
    const exists = place.target === 'own' || place.target === 'other';
    const params = more && exists ? await more(world, userId) : { tokenId: 'none', keyId: 'none' };
    return { params: { userId, ...params }, body };
  };

const onImport =
  (body?: unknown): Make =>
  (world, place) => ({ params: { importId: world.importId(place) }, body });

const onSource =
  (body?: unknown): Make =>
  async (world, place) => ({ params: { sourceId: await world.sourceOf(place) }, body });

const onItem =
  (body?: unknown): Make =>
  (world, place) => ({ params: { importId: world.importId(place), index: '0' }, body });

/** On a new draft of an import, with a file that takes bytes. */
const onFile =
  (headers?: Record<string, string>, body?: unknown): Make =>
  async (world, place) => ({ params: await world.draftOf(place), body, ...(headers ? { headers } : {}) });

const onSession: Make = async (world, place) => ({ params: { sessionId: await world.sessionOf(place) } });

function setUp() {
  const human = { userName: unique('ann'), profile, email: verified, password: PASSWORD };
  return { org: { name: unique('Acme') }, human };
}

function human(orgId: string) {
  const email = { email: 'ann@example.com', isVerified: true };
  return { username: unique('ann'), organization: { orgId }, profile: { givenName: 'Ann', familyName: 'A' }, email };
}

function imported(...orgIds: string[]) {
  const users = () => [{ user: { userName: unique('moved'), profile, email: verified } }];
  return { dataOrgs: { orgs: orgIds.map((orgId) => ({ orgId, humanUsers: users() })) }, timeout: '1h' };
}

async function withCode(world: World, place: Place): Promise<Request> {
  const userId = await world.human(place);
  const verificationCode = place.target === 'missing' ? 'ABC' : await world.codeOf(userId, 'reset_password');
  return { params: { userId }, body: { newPassword: { password: PASSWORD }, verificationCode } };
}

const single = () => ({ userName: unique('moved'), profile, email: verified });
const passwordSource = () => ({ name: 'Old', kind: 'http', settings: { url: 'https://old.example.com/check' } });
const newMachine = () => ({ userName: unique('robot'), name: 'Robot' });
const client = () => ({ name: 'App', grantTypes: ['client_credentials'], authMethod: 'client_secret_basic' });

export const REQUESTS: Readonly<Record<string, Make>> = {
  'POST /admin/v1/orgs/_setup': plain(setUp),
  'POST /management/v1/orgs': plain(() => ({ name: unique('Acme') })),
  'GET /admin/v1/orgs/:orgId': (_world, { orgId }) => ({ params: { orgId } }),
  'POST /admin/v1/orgs/_search': plain(() => ({})),
  'POST /management/v1/orgs/me/_deactivate': onNewOrg(),
  'POST /management/v1/orgs/me/_reactivate': onNewOrg({ method: 'POST', path: '/_deactivate' }),
  'GET /management/v1/orgs/me/removal_preview': onOrg(),
  'DELETE /management/v1/orgs/me': onNewOrg(),
  'POST /management/v1/orgs/me/_undelete': onNewOrg({ method: 'DELETE', path: '' }),
  'GET /management/v1/orgs/me/limits': onOrg(),
  'PUT /management/v1/orgs/me/limits': onOrg(() => ({ users: 1_000_000_000 })),
  'GET /management/v1/orgs/me': onOrg(),
  'GET /management/v1/orgs/me/allowed_urls': onOrg(),
  'PUT /management/v1/orgs/me/allowed_urls': onOrg(() => ({ allowedUrls: ['https://app.example.com'] })),
  'GET /management/v1/orgs/me/sign_in_names': onOrg(),
  'PUT /management/v1/orgs/me/sign_in_names': onOrg(() => ({ signInNames: ['userName', 'loginName', 'email'] })),
  'PUT /management/v1/orgs/me/webhook_secret': onOrg(),

  'GET /management/v1/me': plain(),
  'GET /auth/v1/users/me': plain(),
  'POST /v2beta/users/human': (_world, { orgId }) => ({ body: human(orgId) }),
  'GET /v2beta/users/:userId': onHuman(),
  'GET /v2beta/users/:userId/metadata': onHuman(),
  'GET /v2beta/users/:userId/links': onHuman(),
  'GET /v2beta/users/:userId/logins': onHuman(),
  'DELETE /v2beta/users/:userId/logins': onHuman(),
  'DELETE /v2beta/users/:userId/logins/:loginId': async (world, place) => ({
    params: { userId: await world.human(place), loginId: 'none' },
  }),
  'POST /v2beta/users': plain(() => ({})),
  'POST /management/v1/users/_search': onOrg(),
  'PUT /v2beta/users/human/:userId': onHuman({ profile: { givenName: 'Bea', familyName: 'Brook' } }),
  'POST /v2beta/users/:userId/email': onHuman({ email: 'bea@example.com' }),
  'POST /v2beta/users/:userId/email/resend': onHuman({}),
  'POST /v2beta/users/:userId/email/verify': onHuman({ verificationCode: 'ABC' }),
  'POST /v2beta/users/:userId/phone': onHuman({ phone: '+41791112233' }),
  'DELETE /v2beta/users/:userId/phone': onHuman(),
  'POST /v2beta/users/:userId/phone/resend': onHuman({}),
  'POST /v2beta/users/:userId/phone/verify': onHuman({ verificationCode: 'ABC' }),
  'POST /v2beta/users/:userId/password': onHuman({ newPassword: { password: PASSWORD } }),
  'POST /v2beta/users/:userId/password (with a code)': withCode,
  'POST /v2beta/users/:userId/password_reset': onHuman({}),
  'POST /v2beta/users/:userId/totp': onHuman({}),
  'POST /v2beta/users/:userId/totp/verify': onTotp({ code: '000000' }),
  'DELETE /v2beta/users/:userId/totp': onTotp(),
  'POST /v2beta/users/:userId/deactivate': onHuman({}),
  'POST /v2beta/users/:userId/reactivate': onHuman({}, 'inactive'),
  'POST /v2beta/users/:userId/lock': onHuman({}),
  'POST /v2beta/users/:userId/unlock': onHuman({}, 'locked'),
  'DELETE /v2beta/users/:userId': onHuman(),
  'POST /v2beta/users/:userId/erase': onHuman({}),

  'POST /v2beta/sessions': async (world, place) => ({
    body: { checks: { user: { userId: await world.human(place) }, password: { password: PASSWORD } } },
  }),
  'GET /v2beta/sessions/:sessionId': onSession,
  'DELETE /v2beta/sessions/:sessionId': onSession,

  'GET /management/v1/policies/password/age': onOrg(),
  'POST /management/v1/policies/password/age': onOrg(() => ({ maxAgeDays: 'many' })),
  'PUT /management/v1/policies/password/age': onOrg(() => ({ maxAgeDays: 'many' })),
  'DELETE /management/v1/policies/password/age': onOrg(),
  'GET /management/v1/policies/default/password/age': onOrg(),
  'GET /admin/v1/policies/password/age': plain(),
  'PUT /admin/v1/policies/password/age': plain(() => ({ maxAgeDays: 'many' })),
  'GET /management/v1/policies/password/complexity': onOrg(),
  'POST /management/v1/policies/password/complexity': onOrg(() => ({ minLength: 'many' })),
  'PUT /management/v1/policies/password/complexity': onOrg(() => ({ minLength: 'many' })),
  'DELETE /management/v1/policies/password/complexity': onOrg(),
  'GET /management/v1/policies/default/password/complexity': onOrg(),
  'GET /admin/v1/policies/password/complexity': plain(),
  'PUT /admin/v1/policies/password/complexity': plain(() => ({ minLength: 'many' })),
  'GET /management/v1/policies/login': onOrg(),
  'POST /management/v1/policies/login': onOrg(() => ({ forceMfa: 'yes' })),
  'PUT /management/v1/policies/login': onOrg(() => ({ forceMfa: 'yes' })),
  'DELETE /management/v1/policies/login': onOrg(),
  'GET /management/v1/policies/default/login': onOrg(),
  'GET /admin/v1/policies/login': plain(),
  'PUT /admin/v1/policies/login': plain(() => ({ forceMfa: 'yes' })),

  // Without a worker, a valid one would wait to be written.
  'POST /management/v1/users/human/_import': (_world, { target, orgId }) => ({
    orgId,
    body: target === 'missing' ? single() : { profile: 7 },
  }),
  'POST /admin/v1/import': (_world, { orgId }) => ({ body: imported(orgId) }),
  'POST /admin/v1/import (of both organizations)': (world) => ({
    body: imported(world.orgOf('own'), world.orgOf('other')),
  }),
  'POST /admin/v1/imports': (_world, { orgId }) => ({ body: { orgId } }),
  'POST /admin/v1/imports/:importId/files': onFile({ 'upload-length': '4' }),
  'HEAD /admin/v1/imports/:importId/files/:fileId': onFile(),
  'PATCH /admin/v1/imports/:importId/files/:fileId': onFile(
    { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
    Buffer.from('{}'),
  ),
  'DELETE /admin/v1/imports/:importId/files/:fileId': onFile(),
  'GET /admin/v1/imports/:importId/guess': onFile(),
  'POST /admin/v1/imports/:importId/_convert': onFile({}, {}),
  'POST /admin/v1/imports/:importId/_check': onFile({}, {}),
  'POST /admin/v1/imports/:importId/_start': onFile({}, {}),
  'POST /admin/v1/imports/:importId/_discard': onFile(),
  'GET /admin/v1/imports': plain(),
  'GET /admin/v1/imports/:importId': onImport(),
  'GET /admin/v1/imports/:importId/items': onImport(),
  'GET /admin/v1/imports/:importId/items/:index': onItem(),
  'PATCH /admin/v1/imports/:importId/items/:index': onItem({ name: 'Ann' }),
  'GET /admin/v1/imports/:importId/causes': onImport(),
  'POST /admin/v1/imports/:importId/_fix': onImport({ cause: 'none', remedy: 'leave-out' }),
  'GET /admin/v1/imports/:importId/rates': onImport(),
  'GET /admin/v1/imports/:importId/undo_preview': onImport(),
  'GET /admin/v1/imports/:importId/events': onImport(),
  'POST /admin/v1/imports/:importId/_cancel': onImport({}),
  'POST /admin/v1/imports/:importId/_resume': onImport({ timeout: 'soon' }),
  'POST /admin/v1/imports/:importId/_retry': onImport({ timeout: 'soon' }),
  'POST /admin/v1/imports/:importId/_pause': onImport({}),
  'GET /admin/v1/imports/:importId/report': onImport(),
  'POST /admin/v1/imports/:importId/_undo': onImport({}),
  'POST /admin/v1/imports/:importId/_send_mails': onImport({}),

  'POST /management/v1/password_sources': onOrg(passwordSource),
  'GET /management/v1/password_sources': onOrg(),
  'GET /management/v1/password_sources/:sourceId': onSource(),
  'PUT /management/v1/password_sources/:sourceId': onSource(passwordSource()),
  'GET /management/v1/password_sources/:sourceId/status': onSource(),
  'POST /management/v1/password_sources/:sourceId/_test': onSource({ userName: 'ann', password: 'wrong' }),
  'POST /management/v1/password_sources/:sourceId/_end': onSource({}),
  'DELETE /management/v1/password_sources/:sourceId': onSource(),

  'POST /management/v1/users/machine': onOrg(newMachine),
  'POST /management/v1/users/:userId/pats': onMachine({}),
  'GET /management/v1/users/:userId/pats': onMachine(),
  'DELETE /management/v1/users/:userId/pats/:tokenId': onMachine(undefined, async (world, userId) => ({
    tokenId: await world.patOf(userId),
  })),
  'POST /management/v1/users/:userId/keys': onMachine({ type: 'KEY_TYPE_UNKNOWN' }),
  'GET /management/v1/users/:userId/keys': onMachine(),
  'DELETE /management/v1/users/:userId/keys/:keyId': onMachine(undefined, async (world, userId) => ({
    keyId: await world.keyOf(userId),
  })),
  'PUT /management/v1/users/:userId/secret': onMachine({}),
  'DELETE /management/v1/users/:userId/secret': onMachine(undefined, async (world, userId) => {
    await world.secretOf(userId);
    return {};
  }),

  'POST /management/v1/orgs/me/members': async (world, { target, orgId }) => ({
    orgId,
    body: {
      userId: await world.human(await world.placeOf(target === 'missing' ? 'own' : target)),
      roles: ['ORG_OWNER_VIEWER'],
    },
  }),
  'POST /management/v1/orgs/me/members/_search': onOrg(() => ({})),
  'DELETE /management/v1/orgs/me/members/:userId': async (world, place) => {
    const userId = await world.human(place);
    if (place.target !== 'missing') await world.member({ kind: 'organization', orgId: place.orgId }, userId);
    return { orgId: place.orgId, params: { userId } };
  },
  'POST /admin/v1/members': async (world, place) => ({
    body: { userId: await world.human(place), roles: ['IAM_OWNER'] },
  }),
  'POST /admin/v1/members/_search': plain(() => ({})),
  'DELETE /admin/v1/members/:userId': async (world, place) => {
    const userId = await world.human(place);
    if (place.target === 'own' || place.target === 'other') await world.member({ kind: 'instance' }, userId);
    return { params: { userId } };
  },

  'POST /admin/v1/clients': plain(client),
  'GET /admin/v1/clients': plain(),
  'PATCH /admin/v1/clients/:clientId': async (world, { target }) => ({
    params: { clientId: target === 'missing' ? 'none' : await world.client() },
    body: { claimsPreset: 'keycloak' },
  }),
  'DELETE /admin/v1/clients/:clientId': async (world, { target }) => ({
    params: { clientId: target === 'missing' ? 'none' : await world.client() },
  }),

  'POST /admin/v1/events/_search': async (_world, { orgId }) => ({ body: { orgId } }),
  'POST /admin/v1/events/_export': async (_world, { orgId }) => ({ body: { orgId } }),

  'GET /admin/v1/diagnostics': plain(),
  'GET /admin/v1/workers': plain(),
};
