/**
 * Who sends a request to the console, by the cookies of their browser.
 *
 * Guarantee: no script reads the cookies, and other sites cannot send them with a request that changes something.
 */
import type { Request, Response } from 'express';
import type { OperationId } from '../contract/operations.ts';
import { type Caller, PERMISSIONS } from '../contract/permissions.ts';
import type { Db } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { ApiError } from '../platform/errors.ts';
import { cookieName, cookieOptions, cookieValue } from '../platform/http/cookies.ts';
import { requestIdOf } from '../platform/http/requests.ts';
import { nameCaller } from '../platform/request-context.ts';
import { callerOfToken } from '../signin/authenticate.ts';
import { type Api, type Channel, openApi } from './api.ts';
import { findSession, type Tokens } from './session-store.ts';

/** A request of a person who is signed in: who it is, and the API in their name. */
export interface ConsoleSession {
  caller: Caller;
  tokens: Tokens;
  api: Api;
  /** What the person typed before their session ended, by the names of the fields; empty otherwise. */
  kept: Readonly<Record<string, string>>;
}

/** The session that `requireSession` stored. */
export function sessionOf(res: Response): ConsoleSession {
  return res.locals.session as ConsoleSession;
}

/** The session of this request; undefined without a session, or when its token is no longer valid. */
export async function findConsoleSession(
  deps: { pool: Db; api: Channel; cookies: Cookies },
  req: Request,
  res: Response,
): Promise<ConsoleSession | undefined> {
  const cookie = deps.cookies.read(req, 'console');
  const tokens = cookie === undefined ? undefined : await findSession(deps.pool, cookie);
  const caller = tokens && (await callerOfToken(deps.pool, tokens.accessToken));
  if (!tokens || !caller) return undefined;
  nameCaller({ userId: caller.userId, clientId: caller.clientId });
  return { caller, tokens, api: openApi(deps.api, tokens.accessToken, req, requestIdOf(res)), kept: {} };
}

/** Whether the person may do it to something: on any organization, or on the instance. */
export function mayAnywhere(caller: Caller, operation: OperationId): boolean {
  if (caller.isIamOwner) return true;
  const sufficient: readonly string[] = PERMISSIONS[operation].roles;
  return [...caller.orgRoles.values()].some((roles) => roles.some((role) => sufficient.includes(role)));
}

/** For a request without a session that is still valid. */
export function sessionEnded(): ApiError {
  return new ApiError('UNAUTHENTICATED', 'CONSOLE-SESSION', 'Your session has ended. Sign in again.');
}

export interface Cookies {
  read(req: Request, name: CookieName): string | undefined;
  /** @param maxAgeS absent: until the browser closes */
  set(res: Response, name: CookieName, value: string, maxAgeS?: number): void;
  clear(res: Response, name: CookieName): void;
}

/**
 * The session, a sign-in in progress, the input of a form that came after the session had ended, what was just done, and
 * which forms were sent.
 */
export type CookieName = 'console' | 'console_login' | 'console_form' | 'console_done' | 'console_sent';

/** The console's cookies. @param baseUrl the public address */
export function openCookies(baseUrl: string): Cookies {
  const options = cookieOptions(baseUrl);
  const nameOf = (name: CookieName) => cookieName(baseUrl, name);
  return {
    read: (req, name) => cookieValue(req.get('cookie') ?? '', nameOf(name)),
    set(res, name, value, maxAgeS) {
      res.cookie(nameOf(name), value, { ...options, ...(maxAgeS ? { maxAge: maxAgeS * 1000 } : {}) });
    },
    clear: (res, name) => void res.clearCookie(nameOf(name), options),
  };
}

const PURPOSE = 'console-form';
const KEPT_S = 600;
/** Browsers take 4 KiB of a cookie, with its name and attributes; base64 takes four bytes for three. */
const MAX_BYTES = 2600;

interface KeptForm {
  path: string;
  fields: Record<string, string>;
}

export interface KeptForms {
  /** Returns whether the input is kept: longer input is not. */
  keep(req: Request, res: Response): boolean;
  /** The fields that belong to this page; the next page does not get them again. */
  take(req: Request, res: Response): Record<string, string>;
}

/** Secrets of other people: after a sign-in they are typed again. */
const NEVER_KEPT: readonly string[] = ['pepper', 'triedPassword'];

/**
 * Keeps what a person typed into a form while their session ended.
 *
 * The fields travel encrypted in a cookie of this browser, through the sign-in, back to the form. A form is sent to the
 * address of the page that shows it, so that page shows the fields again. Nothing is stored on the server, so requests
 * without a session cannot fill it.
 */
export function openKeptForms(secrets: Secrets, cookies: Cookies): KeptForms {
  return {
    keep(req, res) {
      const fields = Object.entries((req.body ?? {}) as Record<string, unknown>);
      const form = {
        path: req.originalUrl,
        fields: Object.fromEntries(fields.filter(([name, v]) => typeof v === 'string' && !NEVER_KEPT.includes(name))),
      };
      const text = JSON.stringify(form);
      if (Buffer.byteLength(text) > MAX_BYTES) return false;
      cookies.set(res, 'console_form', secrets.seal(text, PURPOSE), KEPT_S);
      return true;
    },
    take(req, res) {
      const sealed = req.method === 'GET' ? cookies.read(req, 'console_form') : undefined;
      const form = sealed === undefined ? undefined : opened<KeptForm>(secrets, sealed, PURPOSE);
      if (!form || form.path !== req.originalUrl) return {};
      cookies.clear(res, 'console_form');
      return form.fields;
    },
  };
}

/** The content of a cookie that we encrypted; undefined for any other cookie, which anybody can send. */
export function opened<T>(secrets: Secrets, sealed: string, purpose: string): T | undefined {
  try {
    return JSON.parse(secrets.unseal(sealed, purpose)) as T;
  } catch {
    return undefined;
  }
}
