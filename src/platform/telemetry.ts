/**
 * What this process does, told to those who count it (`/metrics`) and who record it (traces); both are in src/operate/.
 *
 * Publishing costs next to nothing while nobody subscribes, and the parts that publish need not know who does.
 * (`node:diagnostics_channel` would end the process when a subscriber throws.) Spans go to the recorder that is set when OpenTelemetry is configured.
 * Without one, each call costs one comparison, and no package of OpenTelemetry is loaded.
 *
 * Guarantee: an observation contains numbers and names of ours; a span contains names, numbers and ids of imports only,
 * as `Attributes` allows nothing else. Neither has data of users. Recording never waits for a collector, and never
 * changes the outcome of the work: whatever a subscriber or the recorder throws is counted (`lostRecords`), not passed on.
 * On crash: a count may lack what was done last, and spans that were not sent are lost; the database has the truth.
 */

export interface Observations {
  /** `succeeded`, or why it failed (src/directory/sign-in-events.ts). */
  signIn: string;
  /** A sign-in at an external provider: `succeeded`, `confirm`, or why it failed (src/directory/sign-in-events.ts). */
  provider: { idpId: string; outcome: string };
  /** The first sign-in of a user whom an import created. */
  firstSignIn: FirstWay;
  /** What a password source answered. */
  passwordSource: 'yes' | 'no' | 'unavailable';
  /** The grant type of a successful token request. */
  token: string;
  /** Users whose outcome was committed; users of dry runs are not counted. */
  users: { succeeded?: number; skipped?: number; failed?: number; undone?: number };
  importEnded: { state: EndState } & Ran;
  /** A batch that was written: the number of its users, and how long its statements took. */
  batch: { users: number; seconds: number };
  importFault: 'retry' | 'data' | 'other';
  /** The number of stuck imports that were dispatched again. */
  rescues: number;
  /** The number of abandoned uploads that were removed. */
  uploadsRemoved: number;
  /** How long a job waited in its queue, in seconds. */
  jobStarted: { queue: string; waited: number };
  mail: Attempt;
  webhook: Attempt;
}

/** The ways in that exist, as stored. */
export const FIRST_WAYS = ['password', 'password_source', 'provider', 'passkey', 'mail_code', 'sms_code'] as const;
export type FirstWay = (typeof FIRST_WAYS)[number];

export const END_STATES = ['succeeded', 'completed_with_errors', 'timed_out', 'cancelled', 'undone'] as const;
export type EndState = (typeof END_STATES)[number];
/** How an attempt to send something ended. */
export type Attempt = 'sent' | 'retry' | 'failed';

export interface Ran {
  importId: string;
  kind: 'bulk' | 'single';
  dryRun: boolean;
  /** How long the import ran, in seconds. */
  seconds: number;
}

type Name = keyof Observations;

type Subscriber = (observation: never) => void;

const subscribers = new Map<Name, Subscriber[]>();

export function publish<K extends Name>(name: K, observation: Observations[K]): void {
  for (const count of subscribers.get(name) ?? []) safely(() => count(observation as never));
}

/** Calls `count` with each later observation of this process. What it throws costs this observation only. */
export function subscribe<K extends Name>(name: K, count: (observation: Observations[K]) => void): void {
  subscribers.set(name, [...(subscribers.get(name) ?? []), count]);
}

let lost = 0;

/** How many observations, spans and lines of the log this process lost, as what takes them failed. */
export function lostRecords(): number {
  return lost;
}

/** Runs what only counts, records or logs: what it throws changes nothing but `lostRecords`. */
export function safely<T>(record: () => T): T | undefined {
  try {
    return record();
  } catch {
    lost++;
    return undefined;
  }
}

export type SpanName =
  | 'import.receive'
  | 'import.copy'
  | 'import.accept'
  | 'import.dispatch'
  | 'import.batch'
  | 'import.hash'
  | 'import.undo'
  | 'mail.send'
  | 'password.verify'
  | 'webhook.send';

export interface Attributes {
  'muster.import.id'?: string;
  'muster.users'?: number;
  'muster.bytes'?: number;
  /** Counts from 1. */
  'muster.attempt'?: number;
  /** The outcome of a mail, a webhook or a sign-in. */
  'muster.outcome'?: string;
}

export interface OpenSpan {
  /** Ends the span; as failed, if there is an error. */
  end(attributes?: Attributes, error?: unknown): void;
}

/** As log lines name the active span. */
export interface TraceIds {
  trace_id: string;
  span_id: string;
}

export interface Recorder {
  open(name: SpanName): OpenSpan;
  inSpan<T>(name: SpanName, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  inImport<T>(importId: string, name: SpanName, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  annotate(attributes: Attributes): void;
  ended(importId: string, state: string, seconds: number): Promise<void>;
  context(): string | undefined;
  ids(): TraceIds | undefined;
  statement(statement: unknown): (() => void) | undefined;
}

let recorder: Recorder | undefined;

/** Records with `next` from now on; with undefined, nothing is recorded any more. */
export function recordWith(next: Recorder | undefined): void {
  recorder = next;
}

/** Runs `work` in a span, as a part of the active one. */
export function inSpan<T>(name: SpanName, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  const to = recorder;
  return to ? recorded((once) => to.inSpan(name, attributes, once), work) : work();
}

/**
 * Runs `work` in a span of the trace in which the import was accepted. Nothing is recorded for an
 * import without a trace, and fewer and fewer spans for a large one (src/operate/tracing.ts).
 * @param importId null: as a part of the active span
 */
export function inImport<T>(
  importId: string | null,
  name: SpanName,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (importId === null) return inSpan(name, attributes, work);
  const to = recorder;
  return to ? recorded((once) => to.inImport(importId, name, attributes, once), work) : work();
}

/** Runs `work` once, and settles as it does, whatever the recorder throws before or after it. */
async function recorded<T>(record: (once: () => Promise<T>) => Promise<T>, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined;
  const once = () => {
    running ??= work();
    return running;
  };
  try {
    return await record(once);
  } catch (error) {
    const result = once();
    await result.then(
      () => lost++,
      (own) => own !== error && lost++,
    );
    return result;
  }
}

/** Opens a span, as a part of the active one, for work that is no function. */
export function openSpan(name: SpanName): OpenSpan | undefined {
  const span = safely(() => recorder?.open(name));
  return span && { end: (attributes, error) => safely(() => span.end(attributes, error)) };
}

/** Adds to the active span. */
export function annotate(attributes: Attributes): void {
  safely(() => recorder?.annotate(attributes));
}

/** Records the run of an import that has just ended, as a span of its trace that began `seconds` ago. */
export function noteEnd(importId: string, state: string, seconds: number): void {
  safely(() => recorder?.ended(importId, state, seconds))?.catch(() => lost++);
}

/** The active span as the header `traceparent` of W3C Trace Context: what continues in another process. */
export function traceContext(): string | undefined {
  return safely(() => recorder?.context());
}

/** The ids of the active span. */
export function traceIds(): TraceIds | undefined {
  return safely(() => recorder?.ids());
}

/** Call it when a statement is sent to PostgreSQL, and what it returns when the statement has settled. */
export function noteStatement(statement: unknown): (() => void) | undefined {
  const note = safely(() => recorder?.statement(statement));
  return note && (() => safely(note));
}
