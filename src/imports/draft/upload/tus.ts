/**
 * The tus protocol (1.0, with creation and termination) on the routes of a draft's files, by `@tus/server`. The routes
 * have checked the caller before; errors become the errors of this API.
 */

import { Server } from '@tus/server';
import type { Response as Answer, Request } from 'express';
import { ApiError, type StatusName } from '../../../errors.ts';
import { newId } from '../../../ids.ts';
import type { DraftFiles } from './store.ts';

const PATH = '/admin/v1/imports';

export interface Tus {
  /** Reads the request and answers it. @throws ApiError */
  handle(req: Request, res: Answer): Promise<void>;
}

/** @param most the largest size of a file */
export function openTus(files: DraftFiles, most: number): Tus {
  const faults = new WeakMap<object, unknown>();
  const named = new WeakMap<object, Record<string, string>>();
  const server = new Server({
    path: PATH,
    datastore: files,
    maxSize: most,
    allowedOrigins: () => false, // http/cors.ts decides
    namingFunction: (request) => `${named.get(request)?.importId}/${newId()}`,
    getFileIdFromRequest: (request) => `${named.get(request)?.importId}/${named.get(request)?.fileId}`,
    generateUrl: (_, { id }) => `${PATH}/${id.replace('/', '/files/')}`,
    onResponseError(request, error) {
      faults.set(request, error);
      return undefined;
    },
  });
  return {
    async handle(req, res) {
      res.set('Tus-Resumable', '1.0.0');
      const body =
        req.method === 'POST' || req.method === 'PATCH' ? req.iterator({ destroyOnReturn: false }) : undefined;
      const request = webRequest(req, body);
      named.set(request, req.params as Record<string, string>);
      try {
        const answer = await server.handleWeb(request);
        const fault = faults.get(request);
        const text = await answer.text();
        if (fault !== undefined || answer.status >= 400) throw apiError(fault, answer.status, text);
        for (const [name, value] of answer.headers) if (IS_OF_TUS.test(name)) res.set(name, value);
        res.status(answer.status).end();
      } finally {
        await body?.return?.(undefined);
      }
    },
  };
}

/** What the tus server reads; it refuses some values of others, such as the `X-Forwarded-Proto` of two proxies. */
const TO_TUS = /^(?:tus-resumable|upload-.*|content-(?:type|length))$/;
const IS_OF_TUS = /^(?:tus-|upload-|location$|cache-control$)/;

/**
 * The request that the tus server gets. It names no draft: the parameters of the route do, for which the caller was
 * checked. The address that the client wrote may spell the same path in another way, and name another draft in its query.
 */
function webRequest(req: Request, body: AsyncIterable<Buffer> | undefined): globalThis.Request {
  const headers = new Headers({ 'tus-resumable': '1.0.0' });
  for (const [name, value] of Object.entries(req.headers))
    if (TO_TUS.test(name) && typeof value === 'string') headers.set(name, value);
  return new globalThis.Request(`http://localhost${PATH}`, {
    method: req.method,
    headers,
    ...(body ? { body: ReadableStream.from(body), duplex: 'half' } : {}),
  });
}

const STATUS: Record<number, [status: StatusName, id: string]> = {
  400: ['INVALID_ARGUMENT', 'UPLOAD-HEADERS'],
  // tus answers 403 for a missing header.
  403: ['INVALID_ARGUMENT', 'UPLOAD-HEADERS'],
  404: ['NOT_FOUND', 'UPLOAD-NOT-FOUND'],
  409: ['ABORTED', 'UPLOAD-OFFSET'],
  412: ['FAILED_PRECONDITION', 'UPLOAD-VERSION'],
  413: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE'],
  501: ['UNIMPLEMENTED', 'UPLOAD-HEADERS'],
};

/** An error of the protocol as an error of this API; any other error unchanged. */
function apiError(fault: unknown, status: number, text: string): unknown {
  const isOfProtocol = fault === undefined || typeof (fault as { status_code?: unknown }).status_code === 'number';
  const known = STATUS[status];
  if (!isOfProtocol || !known) return fault ?? new Error(`tus answered ${status}`);
  const sentence = text.trim().replace(/([^.])$/, '$1.');
  return new ApiError(known[0], known[1], sentence, [412, 413].includes(status) ? { http: status } : {});
}
