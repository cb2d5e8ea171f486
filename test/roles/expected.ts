/** What `who` and `of` of an operation mean for each caller and target: a second reading of them, for the table. */
import type { Operation } from '../../src/contract/operation.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { CALLERS, type Row, type Target } from './table.ts';

const ROLES: Readonly<Record<string, string>> = { o: 'ORG_OWNER', m: 'ORG_USER_MANAGER', v: 'ORG_OWNER_VIEWER' };

const NOBODY_ELSE = { own: '333333331', other: '333333331' };

/** Where the answer depends on more than the role: by row and target, with the reason. */
const SPECIAL: Readonly<Record<string, Partial<Record<Target, string>>>> = {
  // A user of an organization on which the caller has no role is as unknown as one who does not exist.
  'POST /v2beta/sessions': { own: '....00031', other: '.000...31', missing: '000000031' },
  // Who started it is asked first, and nobody else learns that it exists.
  'POST /v2beta/idp_intents/:idpIntentId': { own: '.......31', other: '.......31', missing: '444444431' },
  // Users who set their own password send the current one too.
  'POST /v2beta/users/:userId/password': { self: '0' },
  'DELETE /v2beta/users/:userId': { self: '0' },
  'POST /v2beta/users/:userId/password (with a code)': { own: '.........', other: '.........', missing: '000000000' },
  // Nobody has a passkey of somebody else, whatever their role.
  'POST /v2beta/users/:userId/passkeys': NOBODY_ELSE,
  'POST /v2beta/users/:userId/passkeys/:passkeyId': NOBODY_ELSE,
  'PUT /v2beta/users/:userId/passkeys/:passkeyId': NOBODY_ELSE,
  // The caller needs the role in both.
  'POST /admin/v1/import (of both organizations)': { own: '.33333331' },
};

/** The operation of a row. @throws Error if there is none */
export function operationOf({ method, path }: Pick<Row, 'method' | 'path'>): Operation {
  const written = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`;
  const found = OPERATIONS.find((operation) => operation.path === written);
  if (!found) throw new Error(`no operation ${written}`);
  return found;
}

/** The cells of a row by target, as the operation says. */
export function expectedCells(row: Row): Row['cells'] {
  const operation = operationOf(row);
  const targets = targetsOf(operation, row.operation.endsWith(')'));
  // What a call shows of all organizations of the caller needs the role somewhere, unless it names one of them.
  const anywhere = operation.of === 'orgs' && !targets.includes('other');
  return Object.fromEntries(
    targets.map((target) => {
      const callers = target === 'self' ? 'u' : CALLERS;
      const cells = [...callers].map((caller) => cellOf(operation, caller, target, anywhere));
      return [target, SPECIAL[row.operation]?.[target] ?? cells.join('')];
    }),
  );
}

/** A sentence for each target on which the row of the table and its operation differ. */
export function differencesOf(row: Row): string[] {
  const expected = expectedCells(row);
  const targets = Object.keys({ ...row.cells, ...expected }) as Target[];
  return targets.flatMap((target) => {
    const [table = '_', contract = '_'] = [row.cells[target], expected[target]];
    if (table === contract) return [];
    const callers = target === 'self' ? 'u' : CALLERS;
    const differing = [...callers].filter((_, i) => table[i] !== contract[i]).join('');
    const whom = table.length === contract.length ? `; they differ for ${differing} of ${callers}` : '';
    return [`${row.operation}, ${target}: table ${table}, contract ${contract}${whom}`];
  });
}

/** @param isVariant a row of its own for another body; only its targets that differ are written */
function targetsOf({ of, who, path, body }: Operation, isVariant: boolean): Target[] {
  if (isVariant && of === 'body') return ['own'];
  if (of === 'caller') return ['own', 'self'];
  const names = (name: string) => path.includes(`{${name}}`) || hasField(body?.schema, name);
  if (of === 'instance') {
    if (names('userId')) return ['own', 'other', 'missing', 'self'];
    if (path.includes('{orgId}')) return ['own', 'other', 'missing'];
    return /\{(?:clientId|idpId)\}/.test(path) ? ['own', 'missing'] : ['own'];
  }
  if (of === 'orgs') return names('orgId') ? ['own', 'other', 'missing'] : ['own'];
  const ofUser = of === 'user' || of === 'session' || who.self || path === 'POST /v2beta/sessions';
  return ['own', 'other', 'missing', ...(ofUser ? ['self' as const] : [])];
}

function hasField(schema: object | undefined, name: string): boolean {
  return name in ((schema as { shape?: object } | undefined)?.shape ?? {});
}

function cellOf({ of, who }: Operation, caller: string, target: Target, anywhere: boolean): string {
  if (caller === '-') return '1';
  if (of === 'caller') return '.';
  if (caller === 'I') return target === 'missing' && of !== 'orgs' ? '4' : '.';
  if (target === 'self') return who.self ? '.' : '3';
  const isHere = target === (caller === caller.toUpperCase() ? 'own' : 'other');
  const role = ROLES[caller.toLowerCase()] ?? '';
  return (isHere || anywhere) && (who.roles as readonly string[]).includes(role) ? '.' : '3';
}
