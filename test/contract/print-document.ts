/** `npm run document`: writes document.json, the outline of operations and the page of errors, which tests compare. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../src/contract/document.ts';
import { ERROR_GROUPS } from '../../src/contract/errors.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import type { Permission } from '../../src/contract/roles.ts';
import { type KnownError, STATUS, type StatusName } from '../../src/platform/errors.ts';

/** The document as the API serves it, but for the version and the address, in lines that show what has changed. */
export function printedDocument(): string {
  return `${JSON.stringify(openApiDocument({ version: '0.0.0', baseUrl: 'https://muster.example.com' }), null, 1)}\n`;
}

/** src/contract/outline.ts */
export function printedOutline(): string {
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

const ABOUT_ERRORS = `# Errors

For people whose program calls Muster, and for those who read its log: what each error id means, and what to do.
Written by \`npm run document\` from [src/contract/errors.ts](../src/contract/errors.ts).

Every error of the API has the same body. \`code\` is the number of the gRPC status, \`message\` says what is wrong with
this request, and \`id\` is stable: let programs match on it. Invalid fields follow, each with its path.

\`\`\`json
{"code":3,"message":"email.email must be an email address such as ann@example.com.","details":[
 {"@type":"type.googleapis.com/service.v1.ErrorDetail","id":"USER-INVALID","message":"email.email must be …"},
 {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[
  {"field":"email.email","description":"must be an email address such as ann@example.com"}]}]}
\`\`\`

A meaning that begins with "Of a user" or "Of a draft" is not the answer of a request: it is stored with a user of an
import, or with a draft. \`/docs\` of a running service says which operation answers which ids. Errors with status 429
and 503 have the header \`Retry-After\`.

Two other kinds of errors are not in this list. The endpoints of OAuth and OpenID Connect answer with the codes of RFC
6749, such as \`invalid_grant\` ([oauth.md](oauth.md)). The command line ends with an exit code
([cli.md](cli.md#errors-and-exit-codes)), and names the id if the service refused the request.
`;

/** docs/errors.md */
export function printedErrors(): string {
  const groups = ERROR_GROUPS.map(([title, errors]) => {
    const rows = Object.entries<KnownError>(errors).map(
      ([id, error]) =>
        `| \`${id}\` | ${statusOf(error)} | ${meaningOf(error)} | ${error.remedy} | ${error.since ?? '1.0.0'} |\n`,
    );
    return `\n## ${title}\n\n| Id | Status | Meaning | What to do | Since |\n|---|---|---|---|---|\n${rows.join('')}`;
  });
  return ABOUT_ERRORS + groups.join('');
}

/** With the HTTP status in front where there are several. */
function meaningOf({ status, meaning }: KnownError): string {
  const names = [status].flat();
  return typeof meaning === 'string'
    ? meaning
    : meaning.map((one, i) => `${STATUS[names[i] as StatusName].http}: ${one}`).join(' ');
}

/** `404 NOT_FOUND` */
function statusOf({ status, http }: KnownError): string {
  const names = [status].flat();
  return names.map((name: StatusName) => `${http ?? STATUS[name].http} ${name}`).join(', ');
}

export const DOCUMENT = new URL('./document.json', import.meta.url);
export const OUTLINE = new URL('../../src/contract/outline.ts', import.meta.url);
export const ERROR_PAGE = new URL('../../docs/errors.md', import.meta.url);

if (import.meta.main) {
  writeFileSync(DOCUMENT, printedDocument());
  writeFileSync(OUTLINE, printedOutline());
  writeFileSync(ERROR_PAGE, printedErrors());
}
