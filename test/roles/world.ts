/** Two organizations, a caller of each kind, and new resources in them for callers to act on. */
import type { MailKind } from '../../src/contract/link-templates.ts';
import { addMember, type Scope } from '../../src/directory/members.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { newId, randomToken } from '../../src/platform/ids.ts';
import { addClient } from '../../src/signin/clients.ts';
import { addKey } from '../../src/signin/machines/keys.ts';
import { setSecret } from '../../src/signin/machines/machine.ts';
import { addPat } from '../../src/signin/machines/tokens.ts';
import { addSource } from '../../src/signin/password-sources/store.ts';
import { newDraft } from '../../src/signin/providers/settings.ts';
import { mailCode, tokenOf } from '../directory/users/people.ts';
import { startApi, type TestApi, unique } from '../support/api.ts';
import { endedImport, insertDraft, insertHuman, insertMachine, must, newOrg, ownerOf } from './rows.ts';
import type { Target } from './table.ts';

export const PASSWORD = 'correct horse';
const ROLES = { O: 'ORG_OWNER', M: 'ORG_USER_MANAGER', V: 'ORG_OWNER_VIEWER' } as const;
const EDITOR = 'test';
/** Nobody sends text messages in these tests. */
const SMS_URL = 'http://127.0.0.1:9/';

/** The target of a call. */
export interface Place {
  target: Target;
  /** An unknown organization for `missing`. */
  orgId: string;
  /** The user who is both caller and target; only for `self`. */
  self?: { userId: string; token: string };
}

export interface World {
  api: TestApi;
  /** By letter of the table; undefined for nobody. */
  tokens: ReadonlyMap<string, string>;
  /** A target for one call; the user of `self` is a new one. */
  placeOf(target: Target): Promise<Place>;
  orgOf(target: Target): string;
  /** A new user there; an unknown one for `missing`, the caller for `self`. */
  human(place: Place, state?: string): Promise<string>;
  machine(place: Place): Promise<string>;
  /** An import that has ended, so that it affects nothing. */
  importId(place: Place): string;
  /** A draft of an import, and a file of it. */
  draftOf(place: Place): Promise<{ importId: string; fileId: string }>;
  sessionOf(place: Place): Promise<string>;
  beginTotp(userId: string): Promise<undefined>;
  /** A verified address and number, to which codes can go; or codes as second factors that are there. */
  sentFactors(userId: string, isThere: boolean): Promise<undefined>;
  patOf(userId: string): Promise<string>;
  keyOf(userId: string): Promise<string>;
  secretOf(userId: string): Promise<undefined>;
  member(scope: Scope, userId: string): Promise<undefined>;
  client(): Promise<string>;
  /** A password source that cannot be asked. */
  sourceOf(place: Place): Promise<string>;
  /** An identity provider of the organization, or of the instance. */
  idpOf(place: Place, ofInstance: boolean): Promise<string>;
  codeOf(userId: string, kind: MailKind): Promise<string>;
}

/** Call `api.stop` at the end of the test. @param env settings of the service */
export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const api = await startApi({
    env: { RATE_LIMIT_REQUESTS: '1000000', RATE_LIMIT_LOGINS: '1000000', SMS_URL, ...env },
  });
  try {
    return await peopled(api);
  } catch (error) {
    await api.stop();
    throw error;
  }
}

async function peopled(api: TestApi): Promise<World> {
  const [own, other] = [await newOrg(api), await newOrg(api)];
  const passwordHash = await api.deps.hasher.hash(PASSWORD);
  const tokens = await callers(api, own, other);
  const imports = new Map([
    [own, await endedImport(api, own)],
    [other, await endedImport(api, other)],
  ]);
  const { pool } = api.deps;
  let sessions = 0;
  const orgs = { own, self: own, other, missing: 'no-such-organization' };
  const human: World['human'] = async ({ target, orgId, self }, state) => {
    if (self) return self.userId;
    return target === 'missing' ? unique('nobody') : insertHuman(api, { orgId, passwordHash, state });
  };
  const placeOf: World['placeOf'] = async (target) => {
    const place = { target, orgId: orgs[target] };
    if (target !== 'self') return place;
    const userId = await insertHuman(api, { orgId: own, passwordHash });
    return { ...place, self: { userId, token: await tokenOf(api, userId) } };
  };
  return {
    api,
    tokens,
    human,
    placeOf,
    orgOf: (target) => orgs[target],
    machine: async (place) =>
      ['missing', 'self'].includes(place.target) ? human(place) : insertMachine(api, place.orgId),
    importId: ({ orgId }) => imports.get(orgId) ?? '999999999',
    draftOf: ({ target, orgId }) =>
      target === 'missing' ? Promise.resolve({ importId: '999999999', fileId: 'none' }) : insertDraft(api, orgId),
    async sessionOf(place) {
      if (place.target === 'missing') return unique('no-session');
      const checks = { user: { userId: await human(place) }, password: { password: PASSWORD } };
      // Each from an address of its own, for tests that limit the attempts of one.
      const headers = { 'x-forwarded-for': `192.0.2.${sessions++ % 256}` };
      const { body } = await api.call('POST', '/v2beta/sessions', { checks }, { headers });
      return body.sessionId;
    },
    async beginTotp(userId) {
      await must(api, 'POST', `/v2beta/users/${encodeURIComponent(userId)}/totp`, {});
      return undefined;
    },
    async sentFactors(userId, isThere) {
      await pool.query(
        `update users set email_verified = true, phone = '+41791234567', phone_verified = true where id = $1 and kind = 'human'`,
        [userId],
      );
      const text =
        'insert into user_factors (user_id, otp_email, otp_sms) select id, true, true from users where id = $1';
      if (isThere) await pool.query(text, [userId]);
      return undefined;
    },
    patOf: async (userId) => (await addPat(pool, await ownerOf(api, userId), { token: randomToken() }, EDITOR)).id,
    async keyOf(userId) {
      const id = newId();
      await addKey(pool, await ownerOf(api, userId), { id, publicJwk: { kty: 'RSA' } }, EDITOR);
      return id;
    },
    async secretOf(userId) {
      await setSecret(pool, await ownerOf(api, userId), randomToken(), EDITOR);
      return undefined;
    },
    async member(scope, userId) {
      const roles = scope.kind === 'instance' ? ['IAM_OWNER'] : ['ORG_OWNER_VIEWER'];
      await addMember(pool, scope, { userId, roles }, EDITOR);
      return undefined;
    },
    async client() {
      const clientId = newId();
      const none = {
        redirectUris: [],
        postLogoutRedirectUris: [],
        grantTypes: [],
        pkceRequired: true,
        secretHash: null,
        claims: [],
        accessTokenType: 'opaque' as const,
      };
      await addClient(pool, { clientId, name: 'App', authMethod: 'none', ...none }, EDITOR);
      return clientId;
    },
    async sourceOf({ target, orgId }) {
      if (target === 'missing') return 'none';
      const settings = { url: 'http://127.0.0.1:1' };
      const limits = { userName: '{userName}', timeoutMs: 500, checksPerSecond: 1000, until: undefined };
      const source = { name: 'Old', kind: 'http', settings, ...limits } as const;
      // An organization may have 50. The requests of one operation need fewer at a time.
      await pool.query(
        `delete from password_sources where id in
           (select id from password_sources where org_id = $1 order by created_at desc, id desc offset 40)`,
        [orgId],
      );
      return (await transaction(pool, (db) => addSource(db, api.deps.secrets, orgId, source, EDITOR))).id;
    },
    async idpOf({ target, orgId }, ofInstance) {
      if (target === 'missing') return 'none';
      const id = newId();
      const settings = {
        ...newDraft({ type: 'google', clientId: 'c' }, { allowPrivate: false }).settings,
        aliases: [],
      };
      await pool.query(
        `insert into idps (id, org_id, type, name, settings, sequence) values ($1, $2, 'google', 'Google', $3, 1)`,
        [id, ofInstance ? null : orgId, JSON.stringify(settings)],
      );
      return id;
    },
    codeOf: async (userId, kind) => (await mailCode(api, userId, kind)).code,
  };
}

async function callers(api: TestApi, own: string, other: string): Promise<Map<string, string>> {
  const tokens = new Map([['I', api.token]]);
  for (const [letter, role] of Object.entries(ROLES)) {
    tokens.set(letter, (await api.machine(own, [role])).token);
    const abroad = await api.machine(own);
    const member = { userId: abroad.userId, roles: [role] };
    await must(api, 'POST', '/management/v1/orgs/me/members', member, other);
    tokens.set(letter.toLowerCase(), abroad.token);
  }
  return tokens.set('u', (await api.machine(own)).token);
}
