/**
 * Handles internal errors inside the protocol library.
 *
 * Guarantee: an internal error is logged with the request's id and its details are hidden from the caller. If the
 * database does not answer, the caller is told to try again. Callers' errors are logged at level debug, without their
 * input.
 */
import type { EventEmitter } from 'node:events';
import type { Response } from 'express';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { levelOf } from '../../http/errors.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { isUnavailable } from '../../http/unavailable.ts';
import { loggable } from '../../logger.ts';
import { FAULT, UNAVAILABLE } from './answers.ts';

const CALLERS_ERRORS = [
  'authorization.error',
  'grant.error',
  'introspection.error',
  'revocation.error',
  'userinfo.error',
  'end_session.error',
  'end_session_confirm.error',
  'device_authorization.error',
  'code_verification.error',
  'device_resume.error',
] as const;

export function answerFaults(provider: Provider, logger: Logger): void {
  provider.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      // Errors outside the library's own handling, such as those of storing the session at the end.
      tell(ctx, error, logger);
      ctx.body = FAULT;
      ctx.status = 500;
    }
    if (ctx.state.isUnavailable) retryLater(ctx);
  });
  provider.on('server_error', (ctx, error) => tell(ctx, error, logger));
  const events: EventEmitter = provider;
  // The connection broke while a response was being written.
  events.on('error', (err: unknown) => logger.info({ err: loggable(err) }, 'response interrupted'));
  for (const event of CALLERS_ERRORS) {
    events.on(event, (ctx: KoaContextWithOIDC, { error, error_detail: detail }: CallersError) => {
      (ctx.res as Response).locals.errorId = error;
      logger.debug({ requestId: idOf(ctx), error, detail }, event);
    });
  }
}

interface CallersError {
  error?: string;
  error_detail?: string;
}

type Context = Pick<KoaContextWithOIDC, 'method' | 'path' | 'res' | 'state' | 'status' | 'body' | 'set'>;

function tell(ctx: Context, error: unknown, logger: Logger): void {
  ctx.state.isUnavailable = isUnavailable(error);
  const line = { requestId: idOf(ctx), method: ctx.method, path: ctx.path, err: loggable(error) };
  logger[levelOf(ctx.state.isUnavailable ? 503 : 500)](line, 'request failed');
}

function retryLater(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  if (typeof ctx.body !== 'string') ctx.body = UNAVAILABLE;
}

function idOf(ctx: Pick<Context, 'res'>): string {
  return requestIdOf(ctx.res as Response);
}
