/** `npm run document`: writes document.json and the outline of operations, which document.test.ts compares. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../src/contract/document.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import type { Permission } from '../../src/contract/roles.ts';

/** The document as the API serves it, but for the version and the address, in lines that show what has changed. */
export function printedDocument(): string {
  return `${JSON.stringify(openApiDocument({ version: '0.0.0', baseUrl: 'https://muster.example.com' }), null, 1)}\n`;
}

/** src/contract/outline.ts */
export function printedOutline(): string {
  const lines = OPERATIONS.map(({ id, path, who, tries }) => {
    const fields = [`path: '${path}'`, `who: ${printed(who)}`, ...(tries ? [`tries: '${tries}'`] : [])];
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

export const DOCUMENT = new URL('./document.json', import.meta.url);
export const OUTLINE = new URL('../../src/contract/outline.ts', import.meta.url);

if (import.meta.main) {
  writeFileSync(DOCUMENT, printedDocument());
  writeFileSync(OUTLINE, printedOutline());
}
