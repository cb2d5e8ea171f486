/**
 * Slow statements as spans. Fast ones are not recorded: a span for each would cost more than many of them.
 *
 * Guarantee: a span names a statement by its first word and its first table, or by the name under which it is prepared.
 * It contains neither values nor the text.
 */
import { context, SpanKind, type Tracer } from '@opentelemetry/api';

/** Milliseconds from which a statement is slow. */
const SLOW_MS = 100;
const VERB = /^[\s(]*([a-z]+)/i;
const TABLE = /\b(?:from|into|update|table|join)\s+(?:only\s+)?([a-z_]+)/i;

/** @returns see `noteStatement` */
export function openStatements(tracer: Tracer): (statement: unknown) => (() => void) | undefined {
  return (statement) => {
    // A COPY takes as long as its client sends.
    if (typeof (statement as { submit?: unknown }).submit === 'function') return undefined;
    const began = performance.now();
    const parent = context.active();
    return () => {
      const ms = performance.now() - began;
      if (ms < SLOW_MS) return;
      const summary = summaryOf(statement as string | { name?: string; text: string });
      const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summary };
      const startTime = Date.now() - ms;
      tracer.startSpan(summary, { kind: SpanKind.CLIENT, startTime, attributes }, parent).end();
    };
  };
}

function summaryOf(statement: string | { name?: string; text: string }): string {
  if (typeof statement !== 'string' && statement.name) return statement.name;
  const text = typeof statement === 'string' ? statement : statement.text;
  return [VERB, TABLE]
    .map((part) => part.exec(text)?.[1]?.toLowerCase())
    .join(' ')
    .trim();
}
