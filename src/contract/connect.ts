/**
 * Operations under the names that ZITADEL gives them, for its published clients: `POST
 * /zitadel.user.v2.UserService/GetUserByID`, with everything that the operation needs in a JSON body. It is a unary call
 * of the Connect protocol (https://connectrpc.com/docs/protocol), and its errors have the form of that protocol.
 *
 * Guarantee: the call is the operation itself, with its permission, limits and events: it goes on with the operation's
 * method and path. Its body is read for authenticated callers only, or where a code is enough.
 */
import { type Request, type RequestHandler, type Response, Router } from 'express';
import type { ApiError } from '../platform/errors.ts';
import { badFields } from '../platform/http/parse.ts';
import { readJson } from '../platform/http/request-body.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

/** By path. */
const CALLS = new Map(OPERATIONS.flatMap((operation) => (operation.rpc ? [[`/${operation.rpc}`, operation]] : [])));

/** Gives the errors of such calls their form. Mount it before everything that may fail. */
export function connectErrors(): RequestHandler {
  return (req, res, next) => {
    if (CALLS.has(req.path)) res.locals.errorForm = connectError;
    next();
  };
}

/** Mount it before the routes of the operations. */
export function connectCalls(authenticated: RequestHandler): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const [path, operation] of CALLS) {
    router.post(path, byCode(operation, authenticated), async (req, res, next) => {
      await becomeOperation(operation, req, res);
      next();
    });
  }
  return router;
}

/** A code is enough for an operation that says so. */
function byCode({ who }: Operation, authenticated: RequestHandler): RequestHandler {
  return (req, res, next) =>
    who.code && req.get('authorization') === undefined ? next() : authenticated(req, res, next);
}

async function becomeOperation({ path, body }: Operation, req: Request, res: Response): Promise<void> {
  const given = await readJson(req, res, body?.limits);
  const [method = '', pattern = ''] = path.split(' ');
  res.locals.isCall = true;
  res.locals.readBody = given;
  req.method = method;
  req.url = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(idOf(given, name)));
  req.originalUrl = req.url;
}

/** Keys may be in snake_case, as in every body. @throws ApiError 400 REQUEST-ID */
function idOf(body: unknown, name: string): string {
  const { [name]: id, [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)]: other } = {
    ...(body as object),
  } as Record<string, unknown>;
  const value = id ?? other;
  if (typeof value === 'string' && value !== '' && value.isWellFormed()) return value;
  throw badFields('REQUEST-ID', [{ field: name, description: 'must be the id, as a string' }]);
}

/** The code is that of gRPC by its name; clients decode the details from `value`, people read `debug`. */
function connectError({ status, id, message, violations }: ApiError) {
  const details = [
    { type: 'zitadel.v1.ErrorDetail', value: base64(text(1, id), text(2, message)), debug: { id, message } },
  ];
  if (violations.length === 0) return { code: status.toLowerCase(), message, details };
  const fields = violations.map(({ field, description }) =>
    bytes(1, Buffer.concat([text(1, field), text(2, description)])),
  );
  const bad = { type: 'google.rpc.BadRequest', value: base64(...fields), debug: { fieldViolations: violations } };
  return { code: status.toLowerCase(), message, details: [...details, bad] };
}

/** Without padding, as the protocol says. */
function base64(...fields: Buffer[]): string {
  return Buffer.concat(fields).toString('base64').replace(/=+$/, '');
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value.toWellFormed()));
}

/** A field of Protocol Buffers whose value has a length (https://protobuf.dev/programming-guides/encoding). */
function bytes(field: number, value: Buffer): Buffer {
  const head = [(field << 3) | 2];
  for (let length = value.length; ; length >>>= 7) {
    if (length < 128) return Buffer.concat([Buffer.from([...head, length]), value]);
    head.push((length & 127) | 128);
  }
}
