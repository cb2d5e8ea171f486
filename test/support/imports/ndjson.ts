/** Bodies of `application/x-ndjson`, the steps that the parser returns for them, and imports from them. */
import assert from 'node:assert/strict';
import { NdjsonParser } from '../../../src/imports/entries/ndjson.ts';
import type { Step } from '../../../src/imports/entries/parser.ts';
import { receiveImport } from '../../../src/imports/intake/intake.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { type AcceptOptions, ADMIN, cut, importDeps } from './imports.ts';
import { cutAt, merge, refusal } from './parse.ts';

export const NDJSON = { 'content-type': 'application/x-ndjson' };

/** Writes each value as a line; a string is used as it is. */
export function lines(values: unknown[], end = '\n'): string {
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)) + end).join('');
}

/** The same users as lines, all in one organization. */
export function ofOrg(orgId: string, entries: object[]): object[] {
  return entries.map((one) => ({ orgId, ...one }));
}

/** All steps of a body that arrives in these chunks; runs of entries of one organization are joined. */
export function lineSteps(...pieces: (string | Uint8Array)[]): Step[] {
  const parser = new NdjsonParser('1h');
  const all = pieces.flatMap((piece) => parser.push(Buffer.from(piece)));
  return merge([...all, ...parser.end()]);
}

/** The error that refuses the body, which must be the same for the whole of it and byte by byte. */
export function lineError(body: string | Buffer): { id: string; message: string; field?: string | undefined } {
  const [whole, bytewise] = [[body], cutAt(Buffer.from(body), 'every byte')].map((pieces) => lineSteps(...pieces));
  const last = whole?.at(-1);
  assert.ok(last?.type === 'error', `accepted: ${body}`);
  assert.equal(refusal(bytewise ?? []), last.error.id, `byte by byte: ${body}`);
  return last.error;
}

/** Receives an NDJSON body as the bulk import does; returns the import's id. */
export function acceptLines(pool: Pool, body: string, options: AcceptOptions = {}): Promise<string> {
  const { timeout = '1h', caller = ADMIN, strict = false, chunk = 65_536 } = options;
  const how = { parser: new NdjsonParser(timeout), strict };
  return receiveImport(importDeps(pool, options.env), caller, cut(Buffer.from(body), chunk), how);
}
