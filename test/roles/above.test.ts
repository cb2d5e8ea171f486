/**
 * No privilege escalation: managers cannot change users with more rights than their own, by any operation.
 * Walks the operations of the table that name a user in their path.
 */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import type { Scope } from '../../src/directory/members.ts';
import { errorId } from '../support/answers.ts';
import { type Request, requestTo } from './requests.ts';
import { CALLERS, type Row, readTable } from './table.ts';
import { openWorld, type World } from './world.ts';

/** Operations that only read or need only a code, and the end of a membership, which belongs to the organization. */
const OPEN = /^GET .*\/users\/:userId(?:\/metadata|\/links)?$|\/links\/_search$|\(with a code\)|\/members\/:userId$/;
const ROWS = readTable().filter(({ operation, path }) => path.includes(':userId') && !OPEN.test(operation));

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.api.stop());

test('the operations are those that change a user', () => {
  assert(ROWS.length > 25, String(ROWS.length));
});

for (const caller of ['O', 'M']) {
  for (const row of ROWS.filter(({ cells }) => cells.own?.[CALLERS.indexOf(caller)] === '.')) {
    test(`${caller}: ${row.operation}`, async () => {
      const above: Scope[] = [{ kind: 'instance' }, { kind: 'organization', orgId: world.orgOf('other') }];
      if (caller === 'M') above.push({ kind: 'organization', orgId: world.orgOf('own') });
      for (const scope of above) {
        const request = await requestTo(row.operation, world, await world.placeOf('own'));
        await world.member(scope, request.params?.userId ?? '');
        const before = await lastEvent();
        const answer = await send(row, request, caller);
        assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION'], JSON.stringify(scope));
        assert.equal(await lastEvent(), before, 'nothing has changed');
      }
    });
  }
}

function send({ method, path }: Row, { params, body }: Request, caller: string) {
  const named = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return world.api.call(method, named, body, { token: world.tokens.get(caller) ?? null });
}

async function lastEvent(): Promise<string> {
  const { rows } = await world.api.deps.pool.query('select max(sequence) as last from events');
  return rows[0].last;
}
