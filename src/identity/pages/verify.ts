/**
 * The pages that the mails' links open: confirm the address, set the first password.
 *
 * Guarantee: a GET uses nothing up, as mail scanners follow links; a problem shows the form again with status 400 and
 * does not say whether the user exists. If we die here the code is still good, less one try.
 */
import express, { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import type { Pool } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { loggable, publicError } from '../../http/errors.ts';
import { PAGE_PATHS } from '../../mail/links.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Secrets } from '../../secrets.ts';
import { idProblem, requiredText } from '../../users/fields.ts';
import { CODE_INVALID, initialise, verifyEmail } from '../../users/verification.ts';
import { type Link, messagePage, passwordForm, verifyForm } from './forms.ts';
import { type Page, sendPage } from './layout.ts';

export interface VerifyPageDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Hasher;
  logger: Logger;
}

/** Two passwords of 200 code points and an id, percent-encoded, with room to spare. */
const MAX_BYTES = 16 * 1024;
const NOT_GOOD = 'This link is not valid any more. It may have been used already, or its time has run out.';

/** Serves `/ui/verify` and `/ui/init`; mount it at `/`. */
export function verifyPages(deps: VerifyPageDeps): Router {
  const router = Router();
  const form = express.urlencoded({ extended: false, limit: MAX_BYTES });
  const { verify_email: verify, initialise: init } = PAGE_PATHS;
  router.get(verify, (req, res) => sendPage(res, 200, verifyForm(linkOf(req.query))));
  router.post(verify, form, (req, res) => postVerify(deps, req, res));
  router.get(init, (req, res) => sendPage(res, 200, passwordForm(linkOf(req.query))));
  router.post(init, form, (req, res) => postPassword(deps, req, res));
  router.use([verify, init], problemPage(deps.logger));
  return router;
}

async function postVerify(deps: VerifyPageDeps, req: Request, res: Response): Promise<void> {
  const link = linkOf(req.body);
  const good = await accepted(link, (holder) => verifyEmail(deps, holder));
  if (!good) return sendPage(res, 400, verifyForm(link, NOT_GOOD));
  sendPage(res, 200, messagePage('Email address confirmed', 'Thank you. You can close this page.'));
}

async function postPassword(deps: VerifyPageDeps, req: Request, res: Response): Promise<void> {
  const link = linkOf(req.body);
  const password = field(req.body, 'password');
  const problem = passwordProblem(password, field(req.body, 'repeated'));
  if (problem) return sendPage(res, 400, passwordForm(link, problem));
  const choice = { password, changeRequired: false };
  const good = await accepted(link, (holder) => initialise(deps, holder, choice));
  if (!good) return sendPage(res, 400, passwordForm(link, NOT_GOOD));
  sendPage(res, 200, messagePage('Your password is set', 'Your account is ready. You can log in with it now.'));
}

/** Whether the code was good; other errors are thrown on. */
async function accepted(link: Link, use: (holder: Link & { editor: string }) => Promise<unknown>): Promise<boolean> {
  if (idProblem(link.userId)) return false;
  try {
    await use({ ...link, editor: link.userId });
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.id === CODE_INVALID) return false;
    throw error;
  }
}

const passwordRule = requiredText(200);

function passwordProblem(password: string, repeated: string): string | undefined {
  if (password !== repeated) return 'The two passwords differ. Please type the same password twice.';
  const checked = passwordRule.safeParse(password);
  return checked.success ? undefined : `The password ${checked.error.issues[0]?.message}.`;
}

function linkOf(source: unknown): Link {
  return { userId: field(source, 'userId'), code: field(source, 'code') };
}

/** A repeated or missing field reads as empty. */
function field(source: unknown, name: string): string {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** What went wrong on the way to a form, as a page for people. */
function problemPage(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    if (res.headersSent) return next(error);
    const page = (title: string, message: string): Page => messagePage(title, message);
    // body-parser: too large, wrong charset, cut off.
    const status = (error as { status?: number }).status;
    if (status !== undefined && status >= 400 && status < 500) {
      return sendPage(res, status, page('This did not work', 'The form could not be read.'));
    }
    logger.error({ err: loggable(error) }, 'page failed');
    const { http } = publicError(error);
    sendPage(res, http, page('This did not work', 'Something went wrong on our side. Please try again in a while.'));
  };
}
