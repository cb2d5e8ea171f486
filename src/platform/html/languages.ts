/**
 * In which language a page is asked for: what the person chose in the list at the foot of a page or in their account,
 * which a cookie keeps for a year, what the application that led to the page asks for, and what the browser prefers.
 *
 * Guarantee: only a link of ours, or an address that somebody types, is a choice that is kept. A link of another site
 * decides the language of the page that it opens, and of the sign-in that this page asks for.
 */
import type { CookieOptions, Request, RequestHandler, Response } from 'express';
import { cookieName, cookieOptions, cookieValue } from '../http/cookies.ts';
import { isLanguage, type Language, wishFor } from '../messages/catalogue.ts';
import { requestContext } from '../request-context.ts';
import { LANGUAGE_PARAMETER } from './layout.ts';

/** What people see in a browser. */
const PAGES = /^\/(?:ui|account|oauth|oidc|console)(?:\/|$)/i;
/** At these addresses the parameter is the application's, also in a link that others follow (OpenID Connect Core 3.1.2.1). */
const OF_APPLICATIONS = /\/authorize(?:\/|$)/i;
/** Pages that are in English only. */
const ENGLISH = /^\/docs(?:\/|$)/i;

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
/** Longer lists of languages name none that is of use. */
const LONGEST = 500;

/** Mount it after the context of the request, before all pages. @param baseUrl the public address */
export function chooseLanguage(baseUrl: string): RequestHandler {
  const { name, options } = cookieOf(baseUrl);
  return (req, res, next) => {
    const context = requestContext();
    if (context && ENGLISH.test(req.path)) context.wishes = {};
    if (!context || !PAGES.test(req.path)) return next();
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    const asked = isRead ? askedIn(req) : undefined;
    const chosen = isLanguage(asked) && isOwn(req) ? asked : undefined;
    if (chosen) {
      res.cookie(name, chosen, options);
      res.locals.chosenLanguage = chosen;
    }
    wishFor({
      application: chosen ? undefined : asked,
      chosen: chosen ?? cookieValue(req.get('cookie') ?? '', name)?.slice(0, LONGEST),
    });
    context.query = isRead ? new URL(req.originalUrl, 'http://page.invalid').search : '';
    next();
  };
}

/** Keeps a language that the person chose elsewhere than in the list, for this browser. @param baseUrl the public address */
export function keepLanguage(res: Response, baseUrl: string, language: Language): void {
  const { name, options } = cookieOf(baseUrl);
  res.cookie(name, language, options);
}

function cookieOf(baseUrl: string): { name: string; options: CookieOptions } {
  return { name: cookieName(baseUrl, 'language'), options: { ...cookieOptions(baseUrl), maxAge: YEAR_MS } };
}

/** The language that the person chose with this very request. */
export function chosenNow(res: Response): Language | undefined {
  return res.locals.chosenLanguage;
}

function askedIn(req: Request): string | undefined {
  const { [LANGUAGE_PARAMETER]: asked } = req.query;
  return typeof asked === 'string' ? asked.slice(0, LONGEST) : undefined;
}

/** Browsers of before 2023, and programs, do not say where a link was. */
function isOwn(req: Request): boolean {
  const site = req.get('sec-fetch-site');
  return !OF_APPLICATIONS.test(req.path) && site !== 'cross-site' && site !== 'same-site';
}
