/**
 * The API, as the screens use it: with the token of the person who is signed in.
 *
 * Guarantee: a screen shows and does only what the API lets this person see and do, as it has no other way to read or
 * change anything. Each call checks the token and the roles again.
 */
import type { Request } from 'express';
import { ApiError, type FieldViolation, STATUS, type StatusName } from '../errors.ts';
import type { Channel } from './channel.ts';

interface SendOptions {
  method?: string;
  orgId?: string;
  /** What must not be in a body, such as a pepper. */
  headers?: Readonly<Record<string, string>>;
}

export interface Api {
  /** @throws ApiError as the API answered it */
  get<T>(path: string, options?: { orgId?: string }): Promise<T>;
  /** @param method default: `POST`. @throws ApiError as the API answered it */
  send<T>(path: string, body?: unknown, options?: SendOptions): Promise<T>;
}

/** @param req the browser's request: audit events name its address and its id */
export function openApi(channel: Channel, accessToken: string, req: Request, requestId: string): Api {
  const common = {
    authorization: `Bearer ${accessToken}`,
    'x-request-id': requestId,
    ...(req.ip ? { 'x-forwarded-for': req.ip } : {}),
    ...(req.get('user-agent') ? { 'user-agent': req.get('user-agent') as string } : {}),
  };

  async function call<T>(path: string, options: Parameters<Channel>[1]): Promise<T> {
    const answer = await channel(path, { ...options, headers: { ...common, ...options?.headers } });
    const body: unknown = answer.status === 204 ? {} : await answer.json();
    if (!answer.ok) throw toError(answer, body);
    return body as T;
  }

  return {
    get: (path, { orgId } = {}) => call(path, { headers: onOrg(orgId) }),
    send: (path, body = {}, { method = 'POST', orgId, headers } = {}) =>
      call(path, {
        method,
        headers: { 'content-type': 'application/json', ...onOrg(orgId), ...headers },
        body: JSON.stringify(body),
      }),
  };
}

/** Node.js sends headers as ISO 8859-1; the API reads these as UTF-8. */
function onOrg(orgId: string | undefined): Record<string, string> {
  return orgId ? { 'x-service-orgid': Buffer.from(orgId).toString('latin1') } : {};
}

interface Problem {
  message?: string;
  code?: number;
  details?: { id?: string; fieldViolations?: FieldViolation[] }[];
}

function toError(answer: Response, body: unknown): ApiError {
  const { message = '', code, details = [] } = body as Problem;
  const status = (Object.keys(STATUS) as StatusName[]).find((name) => STATUS[name].code === code) ?? 'INTERNAL';
  const retryAfterS = Number(answer.headers.get('retry-after')) || undefined;
  return new ApiError(status, details.find(({ id }) => id)?.id ?? 'INTERNAL', message, {
    http: answer.status,
    violations: details.flatMap(({ fieldViolations }) => fieldViolations ?? []),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  });
}
