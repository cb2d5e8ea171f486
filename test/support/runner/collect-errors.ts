/**
 * Preloaded by every process of tests: appends to the file of its address (`?to=…`) which error ids the routes of this
 * process answer, each once. seen-errors.ts compares them with the operations when all tests are over.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { Response } from 'express';

const file = new URL(import.meta.url).searchParams.get('to');
const seen = new Set<string>();

/** @param message of http.Server; the response may not be one of Express */
function note(message: unknown): void {
  const { response } = message as { response: Partial<Response> };
  const id: unknown = response.locals?.errorId;
  if (typeof id !== 'string' || !file) return;
  const { method, route } = response.req as Response['req'];
  const line = `${method} ${route?.path ?? '-'} ${id} ${response.statusCode}\n`;
  if (seen.has(line)) return;
  seen.add(line);
  // Short lines that are appended at once are whole, whichever process writes them.
  appendFileSync(file, line);
}

subscribe('http.server.response.finish', note);
