import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { type Answer, errorId } from '../support/answers.ts';
import { differencesOf, operationOf } from './expected.ts';
import { type Request, requestTo } from './requests.ts';
import { CALLERS, type Row, readTable, type Target } from './table.ts';
import { openWorld, type World } from './world.ts';

const ROWS = readTable();
const STATUS: Readonly<Record<string, number>> = { '0': 400, '1': 401, '3': 403, '4': 404 };

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.api.stop());

test('every operation has a row', () => {
  const listed = new Set(ROWS.map((row) => operationOf(row).id));
  assert.deepEqual(
    OPERATIONS.map(({ id }) => id).filter((id) => !listed.has(id)),
    [],
  );
});

test('the table says the same as `who` and `of` of the operations', () => {
  const wrong = ROWS.flatMap(differencesOf);
  const advice =
    'Change test/roles/table.ts, or `who` and `of` of the operation (CONTRIBUTING.md, "Change a permission").';
  assert.ok(wrong.length === 0, `${wrong.join('\n')}\n${advice}`);
});

test('a difference names the row, the target and the callers', () => {
  const row = ROWS.find(({ operation }) => operation === 'POST /admin/v1/imports/:importId/_pause') as Row;
  const changed = { ...row, cells: { ...row.cells, own: '...333331' } };
  assert.deepEqual(differencesOf(changed), [
    'POST /admin/v1/imports/:importId/_pause, own: table ...333331, contract ..3333331; they differ for M of IOMVomvu-',
  ]);
});

for (const row of ROWS) {
  test(row.operation, async () => {
    const calls = await prepared(row);
    const [refused, allowed] = [calls.filter((c) => c.cell !== '.'), calls.filter((c) => c.cell === '.')];
    const before = await lastEvent();
    const answers = await Promise.all(refused.map((call) => send(row, call)));
    assert.equal(await lastEvent(), before, 'a refused call changes nothing');
    answers.push(...(await Promise.all(allowed.map((call) => send(row, call)))));
    const wrong = [...refused, ...allowed].flatMap((call, i) => {
      const [got, expected] = [shown(answers[i]), due(row, call)];
      return got === expected ? [] : [`${call.caller} on ${call.target}: ${got}, not ${expected}`];
    });
    assert.deepEqual(wrong, []);
  });
}

interface Call {
  caller: string;
  target: Target;
  /** The expected status from the table. */
  cell: string;
  request: Request;
  token: string | null;
}

async function prepared(row: Row): Promise<Call[]> {
  const calls: Call[] = [];
  for (const [target, cells] of Object.entries(row.cells) as [Target, string][]) {
    for (const [i, cell] of [...cells].entries()) {
      const caller = target === 'self' ? 'u' : (CALLERS[i] as string);
      const place = await world.placeOf(target);
      const token = place.self?.token ?? world.tokens.get(caller) ?? null;
      calls.push({ caller, target, cell, token, request: await requestTo(row.operation, world, place) });
    }
  }
  return calls;
}

/** A call that names no organization means the caller's own; only an IAM_OWNER, who is of another, must name it. */
function send(row: Row, { caller, target, token, request }: Call): Promise<Answer> {
  const { params, body, orgId, headers } = request;
  const path = row.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const named = orgId !== undefined && (target !== 'own' || caller === 'I');
  return world.api.call(row.method, path, body, {
    token,
    ...(named ? { orgId } : {}),
    ...(headers ? { headers } : {}),
  });
}

function due(row: Row, { cell }: Call): string {
  // An answer to HEAD has no body.
  if (cell === '3') return row.method === 'HEAD' ? '403' : '403 AUTH-PERMISSION';
  return String(cell === '.' ? row.may : STATUS[cell]);
}

/** The status; a 403 with its id, which does not reveal what exists. */
function shown(answer: Answer | undefined): string {
  return answer?.status === 403 && answer.body !== '' ? `403 ${errorId(answer)}` : String(answer?.status);
}

async function lastEvent(): Promise<string> {
  const { rows } = await world.api.deps.pool.query('select max(sequence) as last from events');
  return rows[0].last;
}
