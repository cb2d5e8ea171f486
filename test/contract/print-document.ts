/** `npm run document`: writes what follows from the operations and the errors (WRITTEN); tests compare each file. */
import { writeFileSync } from 'node:fs';
import type { ANSWERED_BY } from '../../src/contract/answered-by.ts';
import { openApiDocument } from '../../src/contract/document.ts';
import { answerersOf } from '../../src/contract/error-answers.ts';
import { casesOf, ERROR_GROUPS, ERRORS, FIRST_VERSION, isErrorId, sinceOf } from '../../src/contract/errors.ts';
import type { Of, Operation } from '../../src/contract/operation.ts';
import { FEATURES, OPERATIONS, type OperationId } from '../../src/contract/operations.ts';
import type { OUTLINE } from '../../src/contract/outline.ts';
import { ORG_ROLES, type Permission } from '../../src/contract/roles.ts';
import type { ErrorId, KnownError } from '../../src/platform/errors.ts';

/** The document as the API serves it, but for the version and the address, in lines that show what has changed. */
function printedDocument(): string {
  return `${JSON.stringify(openApiDocument({ version: '0.0.0', baseUrl: 'https://muster.example.com' }), null, 1)}\n`;
}

/** src/contract/outline.ts */
function printedOutline(): string {
  const lines = OPERATIONS.map(({ id, path, rpc, who, tries }) => {
    const fields = [
      `path: '${path}'`,
      ...(rpc ? [`rpc: '${rpc}'`] : []),
      `who: ${printed(who)}`,
      ...(tries ? [`tries: '${tries}'`] : []),
    ];
    return `  ${id}: { ${fields.join(', ')} },\n`;
  });
  return `/**
 * Method, path and permission of each operation, without their schemas: for workers, which load neither
 * zod nor what describes operations. Written by \`npm run document\`, and compared by a test.
 */
export const OUTLINE = {\n${lines.join('')}} as const;\n`;
}

function printed({ roles, self, code }: Permission): string {
  const list = `[${roles.map((role) => `'${role}'`).join(', ')}]`;
  return `{ roles: ${list}${self ? ', self: true' : ''}${code ? ', code: true' : ''} }`;
}

/** src/contract/answered-by.ts */
function printedAnswerers(): string {
  const lines = Object.keys(ERRORS)
    .filter(isErrorId)
    .map((id) => {
      const answerers = answerersOf(id);
      const value =
        typeof answerers === 'string' ? `'${answerers}'` : `[${answerers.map((name) => `'${name}'`).join(', ')}]`;
      return `  ${id.includes('-') ? `'${id}'` : id}: ${value},\n`;
    });
  return `/**
 * What answers each error id: operations, or a kind of requests. For the command line, which does not load what describes
 * operations. Written by \`npm run document\`, and compared by a test.
 */
export const ANSWERED_BY = {\n${lines.join('')}} as const;\n`;
}

const ABOUT_ERRORS = `# Errors

For people whose program calls Muster, and for those who read its log: what each error id means, and what to do.
Written by \`npm run document\` from [src/contract/errors/](../src/contract/errors/).

Every error of the API has the same body. \`code\` is the number of the gRPC status, \`message\` says what is wrong with
this request, and \`id\` is stable: let programs match on it. Invalid fields follow, each with its path.

\`\`\`json
{"code":3,"message":"email.email must be an email address such as ann@example.com.","details":[
 {"@type":"type.googleapis.com/service.v1.ErrorDetail","id":"USER-INVALID","message":"email.email must be …"},
 {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
  {"field":"email.email","description":"must be an email address such as ann@example.com"}]}]}
\`\`\`

"Answered by" names operations as \`/docs\` of a running service does, or says which requests may get the error. An error
that is stored with a user of an import is the \`error\` of an item; it becomes an answer only where a request imports one
user (\`importHumanUser\`). An error that is stored with a draft says why its conversion or its check failed, which may
also be an error that \`checkImport\` answers. \`muster explain ID\` prints a row of this page with every operation
([cli.md](cli.md#explain)).

"What to do" is meant for the caller; what a manager, an owner, an IAM_OWNER ([permissions.md](permissions.md)) or the
operator can do follows their name.
Errors with status 429 and 503 have the header \`Retry-After\`.

Two other kinds of errors are not in this list. The endpoints of OAuth and OpenID Connect answer with the codes of RFC
6749, such as \`invalid_grant\` ([oauth.md](oauth.md)). The command line ends with an exit code
([cli.md](cli.md#errors-and-exit-codes)), and names the id if the service refused the request.
`;

/** docs/errors.md */
function printedErrors(): string {
  const ids = Object.keys(ERRORS).filter(isErrorId);
  // A column that says the same of every error says nothing.
  const hasSince = ids.some((id) => sinceOf(id) !== FIRST_VERSION);
  const columns = ['Id', 'Status', 'Meaning', 'What to do', 'Answered by', ...(hasSince ? ['Since'] : [])];
  const head = `${rowOf(columns)}|${'---|'.repeat(columns.length)}\n`;
  const groups = ERROR_GROUPS.map(([title, errors]) => {
    const rows = Object.keys(errors)
      .filter(isErrorId)
      .sort()
      .map((id) => rowOf([...cellsOf(id), ...(hasSince ? [sinceOf(id)] : [])]));
    return `\n## ${title}\n\n${head}${rows.join('')}`;
  });
  return ABOUT_ERRORS + groups.join('');
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

function cellsOf(id: ErrorId): string[] {
  const cases = casesOf(id);
  const { meaning, remedy }: KnownError = ERRORS[id];
  const statuses = [...new Set(cases.map(({ http, status }) => `${http} ${status}`))];
  return [`\`${id}\``, statuses.join(', '), cellOf(id, meaning), cellOf(id, remedy), answerersText(id)];
}

/** With the HTTP status in front of each text where there are several, or the name where they share the status. */
function cellOf(id: ErrorId, text: string | readonly string[]): string {
  if (typeof text === 'string') return text;
  const cases = casesOf(id);
  const isShared = (http: number) => cases.filter((one) => one.http === http).length > 1;
  return cases.map(({ http, status }, i) => `${isShared(http) ? status : http}: ${text[i]}`).join(' ');
}

/** More operations than this are shortened to FEW: `muster explain` lists them all. */
const MANY = 6;
const FEW = 3;

function answerersText(id: ErrorId): string {
  const answerers = answerersOf(id);
  const { stored }: KnownError = ERRORS[id];
  const stores = stored === undefined ? [] : [`stored with a ${stored === 'user' ? 'user of an import' : 'draft'}`];
  if (typeof answerers === 'string') return [answerers, ...stores].join('; ');
  const shown = answerers.slice(0, answerers.length > MANY ? FEW : MANY).map((name) => `\`${name}\``);
  const others = answerers.length - shown.length;
  const names = [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join(', ');
  return [...(names ? [names] : []), ...stores].join('; ');
}

/** What each `of` means, in a few words. */
const TARGETS: Readonly<Record<Of, string>> = {
  instance: 'in the instance: IAM_OWNER',
  org: "on the organization of `x-service-orgid`, or else on the caller's own",
  user: 'on the organization of the user in the path',
  session: 'on the organization of the user of the session',
  import: 'on every organization of the import',
  source: 'on the organization of the password source',
  idp: 'on the organization of the identity provider',
  orgs: 'on some organization; the answer is limited to those on which the caller has it',
  body: 'on every organization that the body names',
  caller: 'nowhere: every user may call it',
};

const ABOUT_PERMISSIONS = `# Permissions

For people who decide which role somebody needs, and for those who call the API: who may call each operation. Written by
\`npm run document\` from \`src/contract/\`, and compared with the service by \`test/roles/matrix.test.ts\`.

| Role | Given | Meant for |
|---|---|---|
| IAM_OWNER | in the instance | administrators: may call every operation, on every organization |
| ORG_OWNER, "owner" | on an organization | who runs the organization: its users, machine users, members, policies and imports |
| ORG_USER_MANAGER, "manager" | on an organization | support: its users |
| ORG_OWNER_VIEWER, "viewer" | on an organization | who reads the organization and its users |

A user has a role on an organization only if somebody gave it, also on their own. Roles on a deactivated or deleted
organization count for nothing. Whoever may call an operation may still not change a user who has more rights than
themselves ([security.md](security.md#settings-that-decide-about-other-people)).

"On" says what the role is checked against:

| On | The role is needed |
|---|---|
${Object.entries(TARGETS)
  .map(([of, text]) => rowOf([of, text]))
  .join('')}
In the tables, "yes" is a permission; an IAM_OWNER has all. "Themselves" is a user without a role who calls the operation
for themselves, and "a code" is a caller without a token who sends a valid code of the user.
`;

/** docs/permissions.md */
function printedPermissions(): string {
  const columns = ['Operation', 'On', ...ORG_ROLES, 'Others'];
  const head = `${rowOf(columns)}|${'---|'.repeat(columns.length)}\n`;
  const groups = FEATURES.map(([title, , operations]) => {
    const rows = Object.values<Operation>(operations).map(permissionRow);
    return `\n## ${title}\n\n${head}${rows.join('')}`;
  });
  return ABOUT_PERMISSIONS + groups.join('');
}

function permissionRow({ id, path, of, who }: Operation): string {
  const roles = ORG_ROLES.map((role) => (of === 'caller' || who.roles.includes(role) ? 'yes' : ''));
  const others = [...(who.self || of === 'caller' ? ['themselves'] : []), ...(who.code ? ['a code'] : [])];
  return rowOf([`\`${id}\`<br>\`${path}\``, of, ...roles, others.join(', ')]);
}

// tsc says so here when an operation or an error was added or removed, whatever else it says elsewhere.
type Missing = Exclude<OperationId, keyof typeof OUTLINE> | Exclude<ErrorId, keyof typeof ANSWERED_BY>;
type Stale = Exclude<keyof typeof OUTLINE, OperationId> | Exclude<keyof typeof ANSWERED_BY, ErrorId>;
type Current<Others> = [Others] extends [never] ? true : ['what is written is stale: `npm run document`', Others];
true satisfies Current<Missing | Stale>;

const at = (path: string) => new URL(`../../${path}`, import.meta.url);

/** What `npm run document` writes: each file with its text. */
export const WRITTEN: readonly (readonly [file: URL, text: () => string])[] = [
  [at('test/contract/document.json'), printedDocument],
  [at('src/contract/outline.ts'), printedOutline],
  [at('src/contract/answered-by.ts'), printedAnswerers],
  [at('docs/errors.md'), printedErrors],
  [at('docs/permissions.md'), printedPermissions],
];

if (import.meta.main) for (const [file, text] of WRITTEN) writeFileSync(file, text());
