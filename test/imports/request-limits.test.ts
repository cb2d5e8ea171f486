/** Each limit on long requests is answered 429 to its caller, and to nobody else. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { singles, streams, uploads, waits } from '../../src/imports/visible.ts';
import type { Slots } from '../../src/platform/http/slots.ts';
import { type Answer, errorId, startApi, type TestApi } from '../support/api.ts';
import { bulk, people } from '../support/imports/bodies.ts';

interface Owner {
  orgId: string;
  userId: string;
  token: string;
}

let api: TestApi;
let [ann, eve]: Owner[] = [];
before(async () => {
  api = await startApi({ env: { MAX_RUNNING_IMPORTS: '1', SINGLE_IMPORT_TIMEOUT_MS: '50' } });
  [ann, eve] = [await owner(), await owner()];
});
after(() => api.stop());

async function owner(): Promise<Owner> {
  const { orgId } = await api.setupOrg();
  return { orgId, ...(await api.machine(orgId, ['ORG_OWNER'])) };
}

type Send = (owner: Owner) => Promise<Answer>;
const importOf =
  (headers = {}): Send =>
  ({ orgId, token }) =>
    api.call('POST', '/admin/v1/import', bulk(orgId, people('u', 1)), { token, headers });

const [{ user: single } = assert.fail()] = people('single', 1);
const LIMITS: [what: string, id: string, slots: Slots, send: Send, otherwise: number[]][] = [
  ['uploads', 'IMPORT-UPLOADS', uploads, importOf(), [202]],
  ['waits', 'IMPORT-WAITS', waits, importOf({ prefer: 'wait=1' }), [429, 202]],
  [
    'imports of one user',
    'IMPORT-SINGLES',
    singles,
    ({ token }) => api.call('POST', '/management/v1/users/human/_import', single, { token }),
    [504],
  ],
];

for (const [what, id, slots, send, otherwise] of LIMITS) {
  test(`${what} are limited for each caller`, async () => {
    const releases = takeAll(slots, ann as Owner);
    const refused = await send(ann as Owner);
    assert.deepEqual([refused.status, errorId(refused), refused.headers.get('retry-after')], [429, id, '1']);
    const other = await send(eve as Owner);
    assert.ok(otherwise.includes(other.status) && errorId(other) !== id, JSON.stringify(other.body));
    for (const release of releases) release();
    const again = await send(ann as Owner);
    assert.notEqual(errorId(again), id);
  });
}

test('running imports are limited for each organization', async () => {
  const carol = await owner();
  assert.equal((await importOf()(carol)).status, 202);
  const refused = await importOf()(carol);
  assert.deepEqual(
    [refused.status, errorId(refused), refused.headers.get('retry-after')],
    [429, 'IMPORT-RUNNING', '30'],
  );
  const { body } = await api.call('GET', '/admin/v1/imports', undefined, { token: carol.token });
  await api.call('POST', `/admin/v1/imports/${body.imports[0].importId}/_cancel`, {}, { token: carol.token });
  assert.equal((await importOf()(carol)).status, 202);
});

test('event streams are limited for each caller', async () => {
  const dave = await owner();
  const { body } = await importOf()(dave);
  const stream = () => api.call('GET', `/admin/v1/imports/${body.importId}/events`, undefined, { token: dave.token });
  const releases = takeAll(streams, dave);
  const refused = await stream();
  assert.deepEqual([refused.status, errorId(refused)], [429, 'IMPORT-STREAMS']);
  for (const release of releases) release();
  await api.call('POST', `/admin/v1/imports/${body.importId}/_cancel`, {}, { token: dave.token });
  assert.equal((await stream()).status, 200);
});

/** Takes slots until there are no more for this caller. */
function takeAll(slots: Slots, holder: Owner): (() => void)[] {
  const releases: (() => void)[] = [];
  for (;;) {
    try {
      releases.push(slots.take(holder));
    } catch {
      return releases; // full
    }
  }
}
