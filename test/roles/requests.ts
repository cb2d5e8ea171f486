/**
 * How to call each operation of the table so that a permitted caller gets the status of its row: with a new resource to
 * act on, so that no call affects the next.
 *
 * What the path names is made by its kind. The body is the example, if one is needed: spoiled where the row says 400,
 * and with other values where those of the example would be taken, or lack a right. An operation whose example works as
 * it is needs no line here.
 */
import { CONTRACT, type OperationId } from '../../src/contract/operations.ts';
import { unique } from '../support/answers.ts';
import { operationOf } from './expected.ts';
import { readTable } from './table.ts';
import { PASSWORD, type Place, type World } from './world.ts';

export interface Request {
  /** Path parameters by name. */
  params: Record<string, string>;
  body?: unknown;
  /** For `x-service-orgid`. */
  orgId?: string;
  headers?: Record<string, string>;
}

const ROWS = new Map(readTable().map((row) => [row.operation, row]));

/** A request for a row of the table, `POST /v2beta/users/:userId/password (with a code)`, to a target of its own. */
export async function requestTo(row: string, world: World, place: Place): Promise<Request> {
  const { may, ...named } = ROWS.get(row) ?? { may: 0, method: '', path: '' };
  const { id, of, path, body } = operationOf(named) as (typeof CONTRACT)[OperationId] & { body?: { examples: object } };
  const at: At = { world, place, params: {} };
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    if (!(name in at.params)) Object.assign(at.params, await PARAMETERS[name]?.(at, id));
  }
  if (place.target !== 'missing') Object.assign(at.params, await PREPARED[id]?.(at));
  const make = BODIES[row] ?? BODIES[id];
  const [example] = Object.values(body?.examples ?? {});
  const orgId = of === 'org' ? await orgOf(id, at) : undefined;
  return {
    params: at.params,
    body: make ? await make(at) : may === 400 ? spoiled(example) : isNeeded(id) ? example : undefined,
    ...(orgId === undefined ? {} : { orgId }),
    ...(HEADERS[id] ? { headers: HEADERS[id] } : {}),
  };
}

/** A call, and what its path names so far. */
interface At {
  world: World;
  place: Place;
  params: Record<string, string>;
}

/** What the parameters of a path name. */
const PARAMETERS: Record<
  string,
  (at: At, id: OperationId) => Promise<Record<string, string>> | Record<string, string>
> = {
  orgId: ({ place }) => ({ orgId: place.orgId }),
  userId: async ({ world, place }, id) => ({
    userId: await (CONTRACT[id].path.includes('/management/v1/users/')
      ? world.machine(place)
      : world.human(place, STATES[id])),
  }),
  sessionId: async ({ world, place }) => ({ sessionId: await world.sessionOf(place) }),
  sourceId: async ({ world, place }) => ({ sourceId: await world.sourceOf(place) }),
  idpId: async ({ world, place }, id) => ({
    idpId: id.includes('Link') ? 'none' : await world.idpOf(place, id.includes('Instance')),
  }),
  importId: ({ world, place }, id) => (DRAFTS.has(id) ? world.draftOf(place) : { importId: world.importId(place) }),
  clientId: async ({ world, place }) => ({ clientId: place.target === 'missing' ? 'none' : await world.client() }),
  index: () => ({ index: '0' }),
  tokenId: () => ({ tokenId: 'none' }),
  keyId: () => ({ keyId: 'none' }),
  loginId: () => ({ loginId: 'none' }),
  passkeyId: () => ({ passkeyId: 'none' }),
  totpId: () => ({ totpId: 'none' }),
  idpIntentId: () => ({ idpIntentId: 'none' }),
  linkedUserId: () => ({ linkedUserId: 'none' }),
};

/** The state that a user must have before. */
const STATES: Partial<Record<OperationId, string>> = { reactivateUser: 'inactive', unlockUser: 'locked' };
const DRAFTS: ReadonlySet<OperationId> = new Set([
  ...(['guessImport', 'convertImport', 'checkImport', 'startImport', 'discardImport'] as const),
  ...(['previewImportMails', 'listEarlierImports', 'tryImportPassword'] as const),
  ...(['createImportFile', 'getImportFile', 'sendImportFile', 'removeImportFile'] as const),
]);

/** What else must be there before: a part of the user, which may be a further parameter. */
const PREPARED: Partial<Record<OperationId, (at: At) => Promise<Record<string, string> | undefined>>> = {
  removePat: async ({ world, params }) => ({ tokenId: await world.patOf(params.userId ?? '') }),
  removeKey: async ({ world, params }) => ({ keyId: await world.keyOf(params.userId ?? '') }),
  removeSecret: ({ world, params }) => world.secretOf(params.userId ?? ''),
  verifyTotp: ({ world, params }) => world.beginTotp(params.userId ?? ''),
  removeTotp: ({ world, params }) => world.beginTotp(params.userId ?? ''),
  resetFactors: ({ world, params }) => world.beginTotp(params.userId ?? ''),
  addOtpSms: ({ world, params }) => world.sentFactors(params.userId ?? '', false),
  addOtpEmail: ({ world, params }) => world.sentFactors(params.userId ?? '', false),
  removeOtpSms: ({ world, params }) => world.sentFactors(params.userId ?? '', true),
  removeOtpEmail: ({ world, params }) => world.sentFactors(params.userId ?? '', true),
  removeOrgMember: ({ world, place: { orgId }, params }) =>
    world.member({ kind: 'organization', orgId }, params.userId ?? ''),
  removeInstanceMember: async ({ world, place, params }) =>
    place.target === 'self' ? undefined : world.member({ kind: 'instance' }, params.userId ?? ''),
};

/** Operations that stop an organization get a new one, on which this was called before. */
const STOPPING: Partial<Record<OperationId, [method: string, path: string] | undefined>> = {
  deactivateOrg: undefined,
  reactivateOrg: ['POST', '/_deactivate'],
  deleteOrg: undefined,
  undeleteOrg: ['DELETE', ''],
};

async function orgOf(id: OperationId, { world, place }: At): Promise<string> {
  if (place.target === 'missing' || !(id in STOPPING)) return place.orgId;
  const { body } = await world.api.call('POST', '/management/v1/orgs', { name: unique('Acme') });
  const [method, path] = STOPPING[id] ?? [];
  if (method) await world.api.call(method, `/management/v1/orgs/me${path}`, undefined, { orgId: body.id });
  return body.id;
}

const HEADERS: Partial<Record<OperationId, Record<string, string>>> = {
  createImportFile: { 'upload-length': '4' },
  sendImportFile: { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
};

const email = { email: 'ann@example.com', isEmailVerified: true };
const entry = () => ({ userName: unique('moved'), profile: { firstName: 'Ann', lastName: 'Arbor' }, email });

function imported(...orgIds: string[]) {
  return { dataOrgs: { orgs: orgIds.map((orgId) => ({ orgId, humanUsers: [{ user: entry() }] })) }, timeout: '1h' };
}

/** A new user, as the one of the place would get the role only once. */
async function member({ world, place }: At, role: string) {
  const { target } = place;
  const isOfOrg = role !== 'IAM_OWNER';
  const of = isOfOrg && target === 'missing' ? await world.placeOf('own') : place;
  return { userId: await world.human(of), roles: [role] };
}

/** Bodies by operation, or by row. */
const BODIES: Readonly<Record<string, (at: At) => unknown>> = {
  addUserLink: () => ({ idpLink: { idpId: 'google', userId: unique('subject') } }),
  startIdpIntent: async ({ world, place }) => ({
    idpId: await world.idpOf(place, false),
    urls: { successUrl: 'https://app.example/done', failureUrl: 'https://app.example/failed' },
  }),
  updateSession: () => ({ checks: { otpEmail: { code: '12345678' } } }),
  setUpOrg: () => ({ org: { name: unique('Acme') }, human: { ...entry(), password: PASSWORD } }),
  createOrg: () => ({ name: unique('Acme') }),
  setOrgLimits: () => ({ users: 1_000_000_000 }),
  createHumanUser: ({ place: { orgId } }) => ({
    ...{ username: unique('ann'), organization: { orgId }, profile: { givenName: 'Ann', familyName: 'Arbor' } },
    email: { email: 'ann@example.com', isVerified: true },
  }),
  updateHumanUser: () => ({ profile: { givenName: 'Bea', familyName: 'Brook' } }),
  setEmail: () => ({ email: 'bea@example.com' }),
  setPhone: () => ({ phone: '+41791112233' }),
  'POST /v2beta/users/:userId/password (with a code)': async ({ world, place, params }) => ({
    newPassword: { password: PASSWORD },
    verificationCode: place.target === 'missing' ? 'ABC' : await world.codeOf(params.userId ?? '', 'reset_password'),
  }),
  createSession: async ({ world, place }) => ({
    checks: { user: { userId: await world.human(place) }, password: { password: PASSWORD } },
  }),
  // Without a worker, a valid one would wait to be written.
  importHumanUser: ({ place }) => (place.target === 'missing' ? entry() : { profile: 7 }),
  importUsers: ({ place }) => imported(place.orgId),
  'POST /admin/v1/import (of both organizations)': ({ world }) => imported(world.orgOf('own'), world.orgOf('other')),
  sendSignInMails: () => ({}),
  createImport: ({ place: { orgId } }) => ({ orgId }),
  sendImportFile: () => Buffer.from('{}'),
  changePasswordSource: () => CONTRACT.addPasswordSource.body.examples.http,
  createMachineUser: () => ({ userName: unique('robot'), name: 'Robot' }),
  addOrgMember: (at) => member(at, 'ORG_OWNER_VIEWER'),
  addInstanceMember: (at) => member(at, 'IAM_OWNER'),
  searchEvents: ({ place: { orgId } }) => ({ orgId }),
  exportEvents: ({ place: { orgId } }) => ({ orgId }),
};

/** Whether a call without a body would be refused. */
function isNeeded(id: OperationId): boolean {
  const { body } = CONTRACT[id] as { body?: { schema: { safeParse(value: unknown): { success: boolean } } } };
  return body !== undefined && !body.schema.safeParse({}).success;
}

/** A value of a wrong type in the first field. */
function spoiled(example: object | undefined): unknown {
  const [name] = Object.keys(example ?? {});
  return name === undefined ? example : { ...example, [name]: { wrong: true } };
}
