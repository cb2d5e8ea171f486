/** `npm run document`: writes document.json and the paths for clients, which document.test.ts compares. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../src/contract/document.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';

/** The document as the API serves it, but for the version and the address, in lines that show what has changed. */
export function printedDocument(): string {
  return `${JSON.stringify(openApiDocument({ version: '0.0.0', baseUrl: 'https://muster.example.com' }), null, 1)}\n`;
}

/** src/contract/paths.ts */
export function printedPaths(): string {
  const lines = OPERATIONS.map(({ id, path }) => `  ${id}: '${path}',\n`);
  return `/** Method and path of each operation, without their schemas. Written by \`npm run document\`. */
export const PATHS = {\n${lines.join('')}} as const;\n`;
}

export const DOCUMENT = new URL('./document.json', import.meta.url);
export const PATHS = new URL('../../src/contract/paths.ts', import.meta.url);

if (import.meta.main) {
  writeFileSync(DOCUMENT, printedDocument());
  writeFileSync(PATHS, printedPaths());
}
