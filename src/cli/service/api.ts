/**
 * Calls to the service, and the errors that a person sees when it does not answer or refuses.
 *
 * Guarantee: a call returns the complete response or throws a Failure that explains why not; tokens are sent only in
 * headers.
 */
import {
  type Answer,
  type ApiRequest,
  type Args,
  type Call,
  type OperationId,
  requestOf,
} from '../../contract/client.ts';
import { ownValue } from '../../platform/text/names.ts';
import { EXIT, type ExitCode, Failure } from '../terminal/failure.ts';

export interface Api {
  readonly url: string;
  /** The JSON of the response. @throws Failure for every status but 2xx */
  call: Call;
  /** The response as it arrives, with a status of 2xx. @throws Failure */
  open<Id extends OperationId>(id: Id, ...args: Args<Id>): Promise<Response>;
}

/** @param token called for each request, so that the token may be renewed meanwhile */
export function openApi(url: string, token: () => Promise<string>): Api {
  async function open(request: ApiRequest): Promise<Response> {
    const response = await send(url, request, await token());
    if (response.ok) return response;
    throw await refusal(url, response);
  }
  return {
    url,
    open: (id, ...args) => open(requestOf(id, ...args)),
    async call<Id extends OperationId>(id: Id, ...args: Args<Id>) {
      const request = requestOf(id, ...args);
      const response = await open(request);
      return (await response.json().catch((error: unknown) => {
        if (request.signal?.aborted) throw request.signal.reason;
        throw error instanceof SyntaxError ? new Stranger(url) : new Unreachable(url, error);
      })) as Answer<Id>;
    },
  };
}

async function send(url: string, { path, headers, body, ...request }: ApiRequest, bearer: string): Promise<Response> {
  const init: RequestInit & { duplex?: 'half' } = {
    ...request,
    headers: { authorization: `Bearer ${bearer}`, ...headers },
    ...(body === undefined ? {} : { body }),
    // Both options together make fetch release what it has sent; otherwise it keeps the whole body for a redirect.
    ...(body instanceof ReadableStream ? { duplex: 'half' as const, redirect: 'error', window: null } : {}),
  };
  return fetch(url + path, init).catch((error: unknown) => {
    if (request.signal?.aborted) throw error;
    throw new Unreachable(url, error);
  });
}

/** The service did not answer, or its response was cut off. */
export class Unreachable extends Failure {
  constructor(url: string, cause: unknown) {
    const why = reason(cause);
    super(`${url} cannot be reached${why ? `: ${why}` : ''}.`, {
      exitCode: EXIT.unreachable,
      advice:
        'Check that it is running and that the URL (--url or MUSTER_URL) is right; `muster doctor` finds out more.',
    });
  }
}

/** The cause of an error of fetch says what happened: `connect ECONNREFUSED 127.0.0.1:8080`. */
function reason(error: unknown): string {
  const { cause, message } = error as { cause?: unknown; message?: string };
  const inner = cause as { message?: string; code?: string } | undefined;
  return inner?.message || inner?.code || message || '';
}

/** Something answers at the URL, but it is not Muster. */
export class Stranger extends Failure {
  constructor(url: string) {
    super(`The server at ${url} is not Muster.`, {
      exitCode: EXIT.unreachable,
      advice: 'Check the URL: --url or MUSTER_URL sets it.',
    });
  }
}

/** What proxies and firewalls answer themselves; Muster gives a reason with each of these. */
const PROXY: Readonly<Record<number, readonly [why: string, advice: string]>> = {
  403: ['it does not let this request through', 'Allow it in the rules of the proxy or firewall.'],
  407: ['it needs a login of its own', 'Log in to the proxy, or reach the service without it.'],
  408: ['the request took too long for it', 'Raise the time that the proxy allows for a request.'],
  411: ['it needs to know the length of a body', 'Let the proxy accept bodies that are sent in chunks.'],
  413: [
    'the body is too large for it',
    'Raise its limit to MAX_IMPORT_BYTES of the service (nginx: client_max_body_size), or send smaller files.',
  ],
  414: ['the address is too long for it', 'Raise the limit of the proxy for request lines.'],
  429: ['there are too many requests for it', 'Wait, or raise the limit of the proxy.'],
  431: ['the headers are too long for it', 'Raise the limit of the proxy for headers.'],
};

function ofProxy(url: string, status: number): Failure | undefined {
  const [why, advice] = PROXY[status] ?? [];
  if (why === undefined) return undefined;
  return new Failure(`A proxy or firewall before ${url} answered ${status}: ${why}.`, {
    exitCode: exitCodeOf(status),
    advice,
  });
}

/** An error as the service words it. */
export interface ServiceError {
  message?: string;
  /** In place of `message`, as RFC 6749 defines it. */
  error_description?: string;
  details?: { id?: string; fieldViolations?: { field: string; description: string }[] }[];
}

/** The stable id of an error, and a text for each field that is not valid. */
export function detailsOf({ details }: ServiceError): { id: string | undefined; fields: string[] } {
  const fields = details?.flatMap((detail) => detail.fieldViolations ?? []) ?? [];
  return { id: details?.[0]?.id, fields: fields.map(({ field, description }) => `${field}: ${description}`) };
}

/** The Failure for a response that is not a success: every invalid field, and what to do about it. */
async function refusal(url: string, response: Response): Promise<Failure> {
  const body = (await response.json().catch(() => undefined)) as ServiceError | undefined;
  const said = body?.message ?? body?.error_description;
  if (said === undefined && response.status < 500) return ofProxy(url, response.status) ?? new Stranger(url);
  const { id, fields } = detailsOf(body ?? {});
  const message = said ?? `${url} answered ${response.status} without saying why.`;
  return new Failure([message, ...fields].join('\n  '), {
    exitCode: exitCodeOf(response.status),
    advice: await adviceFor(response, id),
    id,
    retryAfter: retryAfterOf(response),
  });
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.denied;
  return status === 502 || status === 503 || status === 504 ? EXIT.unreachable : EXIT.failed;
}

/** What to do at a terminal, where the remedy of an error speaks of headers and fields of a request. */
const COMMANDS: Readonly<Record<string, string>> = {
  'AUTH-TOKEN': 'Run `muster login`, or set MUSTER_TOKEN to a valid token.',
  'AUTH-SIGN-IN-AGAIN': 'Run `muster login` again.',
  'IMPORT-NOT-FOUND': '`muster status` lists the imports with their numbers.',
  'IMPORT-STATE': '`muster status` with the number of the import shows what you can do with it now.',
  'MAIL-NO-ADDRESS':
    'Run `muster login` as a person whose email address is verified, or show the mail with `muster mails preview`.',
  'IMPORT-TIMEOUT': 'Set how long it may take from now on, such as --timeout 30m.',
};

/** The remedy of the error (src/contract/errors/), as a person at a terminal can follow it. */
async function adviceFor(response: Response, id: string | undefined): Promise<string | undefined> {
  const command = ownValue(COMMANDS, id);
  if (command !== undefined || id === undefined) return command;
  // Loaded only when needed: commands should start fast.
  const { casesOf, isErrorId } = await import('../../contract/errors.ts');
  const seconds = retryAfterOf(response);
  const wait = seconds === undefined ? undefined : `${seconds} second${seconds === 1 ? '' : 's'}`;
  // A newer service may have ids that this version does not know.
  if (!isErrorId(id)) return wait && `Try again in ${wait}.`;
  const cases = casesOf(id);
  const { remedy } = cases.find(({ http }) => http === response.status) ?? (cases[0] as (typeof cases)[number]);
  const readable = wait === undefined ? remedy : remedy.replace('the number of seconds in `Retry-After`', wait);
  return `${readable} \`muster explain ${id}\` says more.`;
}

function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('retry-after');
  return text && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
