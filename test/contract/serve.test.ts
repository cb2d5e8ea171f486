/**
 * A request is garbage when it has been answered. What leads from a long-lived object to a request, if only from a hidden
 * class of V8, keeps all of it until the next full collection, and makes each collection of the young generation slower.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Request, Response, Router } from 'express';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { serve } from '../../src/contract/serve.ts';

setFlagsFromString('--expose-gc');
const collect: (options: { type: 'minor' }) => void = runInNewContext('gc');
const CALLS = 200;
const LENGTH = 10_000;
/** A quarter of the requests; each number has 8 bytes. */
const MOST_KEPT = (CALLS * LENGTH * 8) / 4;

type Handle = (req: Request, res: Response) => Promise<void>;

test('a request whose path has parameters is garbage as soon as it is answered', async () => {
  const seen: string[] = [];
  const handle = handlerOf('getImport', (importId) => seen.push(importId));
  collect({ type: 'minor' });
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < CALLS; i++) {
    const data = Array.from({ length: LENGTH }, (_, n) => n / 7);
    const req = { params: { importId: String(i) }, query: {}, data };
    const res = { locals: {}, status: () => res, json() {} };
    await handle(req as unknown as Request, res as unknown as Response);
    collect({ type: 'minor' });
  }
  const kept = process.memoryUsage().heapUsed - before;
  assert.ok(kept < MOST_KEPT, `${CALLS} requests keep ${kept} bytes`);
  assert.deepEqual(seen, Object.keys([...Array(CALLS)]));
});

/** What Express would call for an operation. @param work gets the id in the path */
function handlerOf(id: string, work: (importId: string) => void): Handle {
  const mounted: Handle[] = [];
  const router = { get: (_path: string, handle: Handle) => mounted.push(handle) };
  const operation = OPERATIONS.find((one) => one.id === id);
  const finder = { of: operation?.of, find: () => ({}) };
  const handler = ({ params }: { params: { importId: string } }) => {
    work(params.importId);
    return {};
  };
  serve(router as unknown as Router, operation as never, finder as never, handler as never);
  return mounted[0] as Handle;
}
