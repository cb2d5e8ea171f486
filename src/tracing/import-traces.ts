/**
 * The traces in which imports were accepted, as their rows have them (`imports.trace_context`).
 *
 * Guarantee: at most MOST imports are kept in memory, and each is read once as long as it is used. A database that
 * cannot be read costs the spans of a moment, never the work.
 */
import { type Context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Db } from '../db/pool.ts';
import type { SpanName } from '../spans.ts';

export interface ImportTrace {
  /** What its spans are part of. */
  parent: Context;
  /** Spans of this process, recorded or not. */
  counts: Map<SpanName, number>;
}

const MOST = 1000;

/** @returns the trace of an import; undefined for one that was accepted without tracing */
export function openImportTraces(db: Db): (importId: string) => Promise<ImportTrace | undefined> {
  const known = new Map<string, Promise<ImportTrace | undefined>>();

  /** The import that was used longest ago goes first. */
  function keep(importId: string, trace: Promise<ImportTrace | undefined>): void {
    known.delete(importId);
    known.set(importId, trace);
    const [oldest] = known.keys();
    if (known.size > MOST && oldest !== undefined) known.delete(oldest);
  }

  return (importId) => {
    const trace =
      known.get(importId) ??
      readTrace(db, importId).catch(() => {
        known.delete(importId);
        return undefined;
      });
    keep(importId, trace);
    return trace;
  };
}

async function readTrace(db: Db, importId: string): Promise<ImportTrace | undefined> {
  const { rows } = await db.query<{ trace_context: string | null }>('select trace_context from imports where id = $1', [
    importId,
  ]);
  const traceparent = rows[0]?.trace_context;
  if (!traceparent) return undefined;
  return { parent: propagation.extract(ROOT_CONTEXT, { traceparent }), counts: new Map() };
}
