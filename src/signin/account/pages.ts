/**
 * `/account`: people see and change what concerns their own account: name, address, phone number, password, second
 * factors, passkeys, connected accounts, where they are signed in; they download what is stored about them, and delete
 * the account where the organization allows it.
 *
 * Guarantee: see person.ts and section.ts. Each change is an event, and a mail to the address where it concerns how the
 * person signs in.
 *
 * On crash: the pages show what is stored.
 */
import { type NextFunction, type Request, type Response, Router } from 'express';
import { ACCOUNT_PATHS } from '../../contract/own-clients.ts';
import { readForm, text } from '../../platform/html/forms.ts';
import { sameOrigin } from '../../platform/http/origins.ts';
import { AUTHENTICATORS } from './authenticators.ts';
import { askToConfirm, CONFIRMATION, isClosed } from './confirmation.ts';
import { EMAIL } from './email.ts';
import { DATA, DELETION } from './leaving.ts';
import { comeBack, LINKS } from './links.ts';
import { LOGINS } from './logins.ts';
import { OVERVIEW } from './overview.ts';
import { PASSKEYS } from './passkeys.ts';
import { PASSWORD } from './password.ts';
import { type AccountDeps, askToSignIn, isRecent, personOf, requireToken, signedIn } from './person.ts';
import { PHONE } from './phone.ts';
import { PROFILE } from './profile.ts';
import { RECOVERY_CODES } from './recovery-codes.ts';
import { answerForm, type Section, showSection } from './section.ts';
import { SENT_CODES } from './sent-codes.ts';

const SECTIONS: readonly Section[] = [
  OVERVIEW,
  PROFILE,
  EMAIL,
  PHONE,
  PASSWORD,
  AUTHENTICATORS,
  SENT_CODES,
  RECOVERY_CODES,
  PASSKEYS,
  LINKS,
  LOGINS,
  DATA,
  DELETION,
  CONFIRMATION,
];

/** Serves `/account`, and redirects the addresses that some of it had before; mount it at `/`. */
export function accountPages(deps: AccountDeps): Router {
  const router = Router();
  const { page } = ACCOUNT_PATHS;
  router.use(page, sameOrigin(deps.config.baseUrl));
  for (const section of SECTIONS) {
    const path = section.path === '' ? page : `${page}/${section.path}`;
    router.get(path, (req, res) => get(deps, section, req, res));
    router.post(path, readForm, (req, res) => post(deps, section, req, res));
  }
  const needsRecent = new Map(SECTIONS.map((section) => [section.path, section.needsRecent]));
  router.get(ACCOUNT_PATHS.signedIn, (req, res) => signedIn(deps, { req, res }, needsRecent));
  router.get(`${page}/${LINKS.path}/:tripId`, (req, res) => comeBack(deps, req, res));
  const moved = (section: Section) => (_req: Request, res: Response, _next: NextFunction) =>
    res.redirect(303, `${deps.config.baseUrl}${page}/${section.path}`);
  router.get(['/ui/links', '/ui/links/signed-in'], moved(LINKS));
  router.get('/console/account', moved(LOGINS));
  return router;
}

async function get(deps: AccountDeps, section: Section, req: Request, res: Response): Promise<void> {
  const person = await personOf(deps, req, res);
  if (!person || (section.needsRecent && !isRecent(person))) {
    return askToSignIn(deps, res, section.path, section.needsRecent);
  }
  if (await isClosed(deps, section, person)) return askToConfirm(deps, res, section);
  await showSection({ deps, req, res, person }, section);
}

async function post(deps: AccountDeps, section: Section, req: Request, res: Response): Promise<void> {
  const person = await personOf(deps, req, res);
  if (!person) return askToSignIn(deps, res, section.path, section.needsRecent);
  requireToken(deps.secrets, person, text(req.body, 'token'));
  if (await isClosed(deps, section, person)) return askToConfirm(deps, res, section);
  await answerForm({ deps, req, res, person }, section);
}
