/** The error that a person sees when the service refuses: every invalid field, and what to do about it. */
import { EXIT, type ExitCode, Failure } from '../terminal/failure.ts';

/** Something answers at the URL, but it is not Muster. */
export class Stranger extends Failure {
  constructor(url: string) {
    super(`The server at ${url} is not Muster.`, {
      exitCode: EXIT.unreachable,
      advice: 'Check the URL: --url or MUSTER_URL sets it.',
    });
  }
}

interface ErrorBody {
  message?: string;
  /** In place of `message`, as RFC 6749 defines it. */
  error_description?: string;
  details?: { id?: string; fieldViolations?: { field: string; description: string }[] }[];
}

/** Turns a response that is not a success into a Failure. */
export async function refusal(url: string, response: Response): Promise<Failure> {
  const body = (await response.json().catch(() => undefined)) as ErrorBody | undefined;
  const said = body?.message ?? body?.error_description;
  if (said === undefined && response.status < 500) return new Stranger(url);
  const id = body?.details?.[0]?.id;
  const fields = body?.details?.flatMap((detail) => detail.fieldViolations ?? []) ?? [];
  const lines = fields.map(({ field, description }) => `  ${field}: ${description}`);
  const message = said ?? `${url} answered ${response.status} without saying why.`;
  return new Failure([message, ...lines].join('\n'), {
    exitCode: exitCodeOf(response.status),
    advice: adviceFor(response, id),
    id,
    retryAfter: retryAfterOf(response),
  });
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.denied;
  return status === 502 || status === 503 || status === 504 ? EXIT.unreachable : EXIT.failed;
}

/** What to do about errors of the service, by their stable ids. */
const ADVICE: Readonly<Record<string, string>> = {
  'IMPORT-NOT-FOUND': '`muster status` lists the imports with their numbers.',
  'IMPORT-STATE': '`muster status` with the number of the import shows what you can do with it now.',
  'IMPORT-TIMEOUT': 'Set how long it may take from now on, such as --timeout 30m.',
  'IMPORT-ERASED': 'Import those users again from their source.',
};

function adviceFor(response: Response, id: string | undefined): string | undefined {
  if (response.status === 401) return 'Run `muster login`, or set MUSTER_TOKEN to a valid token.';
  if (response.status === 403) {
    return 'The token is valid, but its user has no role for this: ask an owner of the organization.';
  }
  if (response.status === 429) return `Try again in ${retryAfterOf(response) ?? 1} seconds.`;
  return id === undefined ? undefined : ADVICE[id];
}

function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('retry-after');
  return text && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
