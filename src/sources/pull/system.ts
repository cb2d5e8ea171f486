/**
 * The definition of a running system that users are read from: its options, its secrets, and how its pages are read.
 *
 * A system reads and never writes. Its records are those of the system's exports, so that the source of the same name
 * (`src/sources`) converts them.
 */
import { UsageError } from '../read/records.ts';
import type { Fields } from '../source.ts';

/** An option of `muster pull SYSTEM`; never a secret, as every user of a machine can read the arguments of its programs. */
export interface PullOption {
  describe: string;
  required?: boolean;
  default?: string;
  choices?: readonly string[];
  array?: boolean;
}

/** A password, key or token: read from the environment, or typed without echo. */
export interface Secret {
  /** Name in `PullSettings.secrets`. */
  name: string;
  env: string;
  /** What is asked for on a terminal: `Password of the database`. */
  prompt: string;
  /** It may be left empty. */
  optional?: boolean;
  /** Only a program can supply it, such as the text of a key file: it is not asked for. */
  neverAsked?: boolean;
}

export interface PullSettings {
  /** By the names in `PullSystem.options`. */
  options: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** By the names in `PullSystem.secrets`. */
  secrets: Readonly<Record<string, string | undefined>>;
  /** Aborts every request. */
  signal: AbortSignal;
  /** Tells the person something, such as a wait that the system asked for. */
  note(text: string): void;
}

/** Where reading begins. */
export interface Start {
  /** `cursor` of the last page that was read. */
  cursor: string | undefined;
  /** Only users that changed since then: a time (RFC 3339), or a `mark` of an earlier run. */
  since: string | undefined;
}

export interface RecordPage {
  records: Fields[];
  /** The next page begins here; reading from it gives the users that follow those of this page. */
  cursor: string;
  /** Where the next run of changes begins, for systems that say so themselves; on the last page. */
  mark?: string;
}

export interface OldSystem {
  /** Tells this system from others of its kind, so that a state file is not used for another one. Contains no secret. */
  readonly identity: string;
  /** The parameters of all hashes, where the system tells them; as the file of `--hash-config`. */
  readonly hashConfig?: string | undefined;
  /** Ends after the last user. @throws PullError */
  pages(start: Start): AsyncGenerator<RecordPage>;
  close(): Promise<void>;
}

export interface PullSystem {
  /** In `muster pull NAME`. */
  readonly name: string;
  readonly title: string;
  readonly describe: string;
  /** The source that converts its records; undefined: `--from` names it. */
  readonly source: string | undefined;
  readonly options: Readonly<Record<string, PullOption>>;
  readonly secrets: readonly Secret[];
  /**
   * Whether it can be asked for changed users only; if not, all are read and compared with what was sent before. Some
   * tell only what changed since the last run.
   */
  readonly tellsChanges: boolean | 'since the last run';
  /** Whether it can be read from a cursor on; if not, an interrupted run reads from the beginning. */
  readonly continues: boolean;
  /** The format of a saved file: one record as text. Absent: NDJSON. */
  readonly asText?: (record: Fields) => string;
  /** Connects. @throws PullError @throws UsageError */
  open(settings: PullSettings): Promise<OldSystem>;
}

export type Trouble = 'denied' | 'unreachable' | 'failed';

/** The old system refused, cannot be reached, or answered something else than its documentation says. */
export class PullError extends Error {
  override readonly name = 'PullError';
  readonly trouble: Trouble;
  readonly advice: string | undefined;
  /** The status of an answer over HTTP. */
  readonly status: number | undefined;

  constructor(trouble: Trouble, message: string, advice?: string, status?: number) {
    super(message);
    this.trouble = trouble;
    this.advice = advice;
    this.status = status;
  }
}

/** Reads the options and secrets of a system. */

/** The text of an option; undefined when it is not given. */
export function optionOf({ options }: Pick<PullSettings, 'options'>, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The text of an option that the command line requires. */
export function requiredOption(settings: Pick<PullSettings, 'options'>, name: string): string {
  const value = optionOf(settings, name);
  if (value === undefined) throw new UsageError(`--${name} is required.`);
  return value;
}

export function secretOf({ secrets }: Pick<PullSettings, 'secrets'>, name: string): string {
  return secrets[name] ?? '';
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The base URL of a system, without a trailing slash. A bare host name means HTTPS.
 * @throws UsageError when it is not a plain URL, or would send secrets over a network without TLS
 */
export function baseUrl(option: string, text: string): string {
  const url = URL.parse(text.includes('://') ? text : `https://${text}`);
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  // The message does not repeat the text, as it may contain a password.
  if (!isPlain) throw new UsageError(`--${option} must be a plain host name or URL, without user, password or query.`);
  if (url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname)))
    return url.href.replace(/\/+$/, '');
  throw new UsageError(`--${option} must use https: secrets and users must not cross a network in clear text.`);
}

/** A whole number of an option, within its bounds. @throws UsageError */
export function numberOption(text: string, name: string, [least, most]: readonly [number, number]): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a number from ${least} to ${most}; it is "${text}".`);
}
