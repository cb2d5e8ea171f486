/**
 * A deleted organization can be restored for some days, as it was: no operation changes it meanwhile, whoever calls. An
 * operation that is new is called here without a line of its own.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { errorId } from '../support/answers.ts';
import { operationOf } from './expected.ts';
import { type Request, requestTo } from './requests.ts';
import { type Row, readTable } from './table.ts';
import { openWorld, type World } from './world.ts';

/**
 * What the organization is, or has. A user, a session and an import are of no use while the organization is deleted, and
 * an IAM_OWNER may still erase or cancel them.
 */
const KINDS: ReadonlySet<string> = new Set(['org', 'idp', 'source', 'body']);

/** Operations that are no `GET`, and may be called: why. */
const MAY_BE_CALLED: Readonly<Record<string, string>> = {
  undeleteOrg: 'takes the deletion back',
  searchOrgMembers: 'reads',
  searchOrgUsers: 'reads',
  previewMail: 'reads',
  createSession: 'signs in, and no user of the organization can',
  startIdpIntent: 'signs in',
  retrieveIdpIntent: 'signs in',
  testPasswordSource: 'asks the old system, and changes nothing',
};

const STATES: ReadonlySet<string> = new Set(['deactivateOrg', 'reactivateOrg', 'deleteOrg']);

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.api.stop());

const ALL = readTable().filter((row) => {
  const { of, path } = operationOf(row);
  return KINDS.has(of) && !/^(?:GET|HEAD) /.test(path);
});
const ROWS = ALL.filter((row) => !(operationOf(row).id in MAY_BE_CALLED));

test('a deleted organization is not changed before it is restored, by any operation', async () => {
  const place = await world.placeOf('other');
  const requests: [Row, Request][] = [];
  for (const row of ROWS) requests.push([row, await requestTo(row.operation, world, place)]);
  const options = { orgId: place.orgId };
  assert.equal((await world.api.call('DELETE', '/management/v1/orgs/me', undefined, options)).status, 200);
  const taken: string[] = [];
  for (const [row, { params, body, orgId, headers }] of requests) {
    const { id } = operationOf(row);
    const path = row.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const named = STATES.has(id) ? place.orgId : orgId;
    const answer = await world.api.call(row.method, path, BODIES[id] ?? body, {
      ...(named === undefined ? {} : { orgId: named }),
      ...(headers ? { headers } : {}),
    });
    const told = answer.status < 400 ? String(answer.status) : String(errorId(answer));
    if (!/^ORG-(?:STATE|INACTIVE)$/.test(told)) taken.push(`${row.operation}: ${told}`);
  }
  assert.deepEqual(taken, []);
  assert.equal((await world.api.call('POST', '/management/v1/orgs/me/_undelete', undefined, options)).status, 200);
});

/** In place of those that are refused for another reason. */
const BODIES: Readonly<Record<string, unknown>> = {
  importHumanUser: {
    userName: 'ann',
    profile: { firstName: 'Ann', lastName: 'Arbor' },
    email: { email: 'ann@example.com', isEmailVerified: true },
  },
  sendSampleMail: { kind: 'initialise' },
};

test('each exception is an operation that would be called', () => {
  const known = new Set<string>(ALL.map((row) => operationOf(row).id));
  assert.deepEqual(
    Object.keys(MAY_BE_CALLED).filter((id) => !known.has(id)),
    [],
  );
});
