/**
 * Where the request in progress comes from, for the audit events and log lines that it causes.
 *
 * Guarantee: everything that a request starts sees the context of that request and of no other; work that no request
 * started, such as the work of workers, has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface RequestContext {
  requestId: string;
  /** The IP address; undefined when the connection has closed. */
  address?: string | undefined;
  /** At most `USER_AGENT_CHARS`. */
  userAgent?: string | undefined;
  /** The caller, once they are authenticated. */
  userId?: string | undefined;
  /** The OAuth client that calls, or whose access token the caller uses. */
  clientId?: string | undefined;
  /** The languages that the answer may be in; `src/platform/messages/catalogue.ts` chooses. */
  wishes?: LanguageWishes;
  /** The query of a page that was asked for, by which it can be asked for in another language. */
  query?: string;
}

/** Language tags (BCP 47), or lists of them as in `Accept-Language`, the strongest wish first. */
export interface LanguageWishes {
  /** The application's `ui_locales`. */
  application?: string | undefined;
  /** What the person chose in a list. */
  chosen?: string | undefined;
  /** `Accept-Language`. */
  browser?: string | undefined;
  user?: string | undefined;
  organization?: string | undefined;
  instance?: string | undefined;
}

/** As many characters of the header as are kept. */
export const USER_AGENT_CHARS = 200;

const contexts = new AsyncLocalStorage<RequestContext>();

/** Runs `work`, and everything that it starts, in the context. */
export function inRequestContext<T>(context: RequestContext, work: () => T): T {
  return contexts.run(context, work);
}

/** The context of the request in progress. */
export function requestContext(): RequestContext | undefined {
  return contexts.getStore();
}

/** Records who the caller is. */
export function nameCaller(caller: Pick<RequestContext, 'userId' | 'clientId'>): void {
  Object.assign(contexts.getStore() ?? {}, caller);
}
