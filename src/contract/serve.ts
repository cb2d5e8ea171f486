/**
 * Mounts operations: `serve` those that answer JSON, `serveRaw` those that read or write a stream.
 *
 * Guarantee: what every handler needs is done before it, in this order: the limit of attempts at a secret, the caller,
 * what the operation acts on and whether the caller may, the query, the body. Nothing of a body is read for a caller who
 * may not. An operation on what its body names (`of: 'body'`) has no answer unless its handler has asked for it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Request, Response, Router } from 'express';
import { z } from 'zod';
import { countTry } from '../platform/http/limits.ts';
import { parseBody, parseQuery, pathId } from '../platform/http/parse.ts';
import { readJson } from '../platform/http/request-body.ts';
import type { Slots } from '../platform/http/slots.ts';
import type { AnswerOf, Body, BodyOf, Method, Of, Operation, ParamsOf, QueryOf } from './operation.ts';
import type { OperationId } from './operations.ts';
import { OUTLINE } from './outline.ts';
import { type Caller, callerOf, orgsFor, requirePermission, selectedOrg } from './permissions.ts';

/** What is known of a request before its target is. */
export interface Asked {
  caller: Caller;
  operation: OperationId;
  req: Request;
  res: Response;
}

/**
 * Finds what an operation acts on.
 * @throws ApiError 403 unless the caller may do the operation on it; 404 if only that may be told
 */
export interface Finder<K extends Of, T> {
  of: K;
  find(asked: Asked): T | Promise<T>;
}

/** What a handler returns: the answer as its schema takes it. Nothing, if there is no body or it is not JSON. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing.
type Answered<O extends Operation> = [AnswerOf<O>] extends [never] ? void : Fixed<z.input<AnswerOf<O>>>;
/** Lists that a handler only passes on may be readonly. */
type Fixed<T> = T extends readonly (infer U)[]
  ? readonly Fixed<U>[]
  : T extends object
    ? { [K in keyof T]: Fixed<T[K]> }
    : T;

/** What a handler gets. */
export interface Context<O extends Operation, T> extends Asked {
  /** What the operation acts on, for a caller who may. */
  target: T;
  /** Decoded and checked when they are read. @throws ApiError 400 REQUEST-ID */
  params: ParamsOf<O['path']>;
  query: z.output<QueryOf<O>>;
  body: z.output<BodyOf<O>>;
  /** Counts the request as an attempt at a secret, where only its body tells that it is one. */
  countTry(): Promise<void>;
}

/**
 * Mounts an operation whose body is JSON. A handler whose answer is not JSON sends it itself.
 * @param slots limits how many requests are under way
 */
export function serve<O extends Operation & { id: OperationId }, T>(
  router: Router,
  operation: O,
  { find }: Finder<O['of'], T>,
  handler: (context: Context<O, T>) => Answered<NoInfer<O>> | Promise<Answered<NoInfer<O>>>,
  slots?: Slots,
): void {
  if (operation.body && operation.body.error === undefined) {
    throw new Error(`${operation.id}: the body needs the id of its error, or serveRaw.`);
  }
  const status = Number(Object.keys(operation.answers).find((key) => key.startsWith('2')));
  const paramsOf = paramsReader(operation);
  mount(router, operation, async (req, res) => {
    const asked = { caller: callerOf(res), operation: operation.id, req, res };
    const target = await find(asked);
    const release = slots?.take(asked.caller);
    try {
      const query = queryOf(operation, req);
      const body = operation.body && (await readBody(operation.body, req, res));
      const params = paramsOf(req);
      const context = { ...asked, target, params, query, body, countTry: () => countTry(req, res) };
      const answer = await handler(context as Context<O, T>);
      if (answer !== undefined) res.status(res.locals.isCall ? 200 : status).json(answer);
      else if (!res.headersSent) res.status(status).end();
    } finally {
      release?.();
    }
  });
}

/** Mounts an operation whose handler reads the body or writes the answer itself. */
export function serveRaw<O extends Operation & { id: OperationId }, T>(
  router: Router,
  operation: O,
  { find }: Finder<O['of'], T>,
  handler: (context: Omit<Context<O, T>, 'body'>) => Promise<void>,
  slots?: Slots,
): void {
  const paramsOf = paramsReader(operation);
  mount(router, operation, async (req, res) => {
    const asked = { caller: callerOf(res), operation: operation.id, req, res };
    const target = await find(asked);
    const release = slots?.take(asked.caller);
    try {
      const context = { ...asked, target, params: paramsOf(req), query: queryOf(operation, req) };
      await handler({ ...context, countTry: () => countTry(req, res) } as unknown as Omit<Context<O, T>, 'body'>);
    } finally {
      release?.();
    }
  });
}

function mount(router: Router, operation: Operation, handle: (req: Request, res: Response) => Promise<void>): void {
  requireOutlined(operation);
  const [method, pattern = ''] = operation.path.split(' ');
  const verb = (method as Method).toLowerCase() as Lowercase<Method>;
  router[verb](pattern.replace(/\{(\w+)\}/g, ':$1'), (req, res) => {
    if (operation.of === 'body') requireAsked(operation.id, res);
    return handle(req, res);
  });
}

/**
 * Lets a handler answer only after it has asked for the organizations of the body: one that forgets to would do for all
 * callers what only some may.
 */
function requireAsked(id: string, res: Response): void {
  const { writeHead } = res;
  res.writeHead = ((status: number, ...rest: []) => {
    if (status < 300 && !res.locals.hasAsked) throw new Error(`${id} has not asked for the organizations of its body.`);
    return writeHead.call(res, status, ...rest);
  }) as Response['writeHead'];
}

/** Permissions and limits of attempts come from the outline: one that is older than the operation stops the start. */
function requireOutlined({ id, path, rpc, who, tries }: Operation): void {
  const outlined: object | undefined = OUTLINE[id as OperationId];
  if (!isDeepStrictEqual(outlined, { path, ...(rpc ? { rpc } : {}), who, ...(tries ? { tries } : {}) })) {
    throw new Error(`${id} is not as src/contract/outline.ts says: run "npm run document".`);
  }
  if (tries === 'always' && !path.startsWith('POST ')) throw new Error(`${id}: only POST counts as an attempt.`);
}

const NOTHING = z.strictObject({});

function queryOf({ query, readsQuery, noQuery, queryError }: Operation, req: Request): unknown {
  if (queryError === undefined) return undefined;
  return parseQuery(noQuery ? NOTHING : (readsQuery ?? query ?? z.unknown()), req.query, queryError);
}

async function readBody({ schema, reads, error, limits }: Body, req: Request, res: Response): Promise<unknown> {
  return parseBody(reads ?? schema, await readJson(req, res, limits), error as NonNullable<typeof error>);
}

/**
 * Returns what makes the `params` of a request. Their getters belong to the operation: V8 keeps a hidden class, and what
 * its getters hold, until a full collection, so getters of each request would keep every request for that long.
 */
function paramsReader({ path }: Operation): (req: Request) => object {
  class Params {
    readonly #req: Request;
    constructor(req: Request) {
      this.#req = req;
    }
    static {
      for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
        Object.defineProperty(Params.prototype, name, {
          get(this: Params) {
            return pathId(this.#req, name);
          },
        });
      }
    }
  }
  return (req) => new Params(req);
}

/** The instance: for callers with a role in it. */
export const instance: Finder<'instance', undefined> = {
  of: 'instance',
  find({ caller, operation }) {
    requirePermission(caller, operation);
    return undefined;
  },
};

/** The callers themselves. */
export const ownUser: Finder<'caller', undefined> = { of: 'caller', find: () => undefined };

/** The id of the organization that the request names, or of the caller's own; it may not exist. */
export const anOrg: Finder<'org', string> = {
  of: 'org',
  find({ caller, operation, req }) {
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, operation, orgId);
    return orgId;
  },
};

/** Ids of the organizations in which the caller has the role; undefined: in all. */
export const ownOrgs: Finder<'orgs', string[] | undefined> = {
  of: 'orgs',
  find: ({ caller, operation }) => orgsFor(caller, operation),
};

/** The organizations of a body: the handler asks for those that it finds there, or works with `orgIds` only. */
export interface OrgsOfBody {
  /** Without an id: the body names no organization, or the handler has asked itself. @throws ApiError 403 */
  allow(...orgIds: string[]): void;
  /** Those in which the caller has the role; undefined: all. */
  readonly orgIds: string[] | undefined;
}

export const orgsOfBody: Finder<'body', OrgsOfBody> = {
  of: 'body',
  find({ caller, operation, res }) {
    const allowed = orgsFor(caller, operation);
    return {
      allow(...orgIds) {
        for (const orgId of orgIds) requirePermission(caller, operation, orgId);
        res.locals.hasAsked = true;
      },
      get orgIds() {
        res.locals.hasAsked = true;
        return allowed;
      },
    };
  },
};
