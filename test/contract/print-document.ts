/** `npm run document`: writes document.json, which document.test.ts compares. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../../src/contract/document.ts';

/** The document as the API serves it, but for the version and the address, in lines that show what has changed. */
export function printedDocument(): string {
  return `${JSON.stringify(openApiDocument({ version: '0.0.0', baseUrl: 'https://muster.example.com' }), null, 1)}\n`;
}

export const PRINTED = new URL('./document.json', import.meta.url);

if (import.meta.main) writeFileSync(PRINTED, printedDocument());
