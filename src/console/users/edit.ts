/** The page on which a manager corrects a person's names, language, address and phone number. */
import { type Request, type Response, Router } from 'express';
import type { Sent } from '../../contract/client.ts';
import { ACCOUNT_PATHS } from '../../contract/own-clients.ts';
import { type Caller, covers, may, permissionDenied } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { field, text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { ScreenDeps } from '../deps.ts';
import { sessionOf } from '../session.ts';
import { nameOfUser, userPath } from '../shapes.ts';
import { formPage } from '../shell/blocks.ts';
import { type Refusal, refusalOf } from '../shell/errors.ts';
import { USER_EDIT } from '../texts/user.ts';
import type { Subject } from './user.ts';

type SubjectOf = (deps: ScreenDeps, req: Request, res: Response) => Promise<Subject>;

const PROFILE = ['givenName', 'familyName', 'nickName', 'displayName', 'preferredLanguage'] as const;
const FIELDS = [...PROFILE, 'email', 'phone'] as const;
type Name = (typeof FIELDS)[number];
const OPTIONAL: ReadonlySet<Name> = new Set(['nickName', 'displayName', 'preferredLanguage', 'phone']);
/** What counts as verified, because the manager says so. */
const VERIFIED = { email: 'emailVerified', phone: 'phoneVerified' } as const;

/** @param subjectOf reads the user of the path */
export function editScreens(deps: ScreenDeps, path: string, subjectOf: SubjectOf): Router {
  const router = Router();
  router.get(path, async (req, res) => {
    const subject = await reach(deps, req, res, subjectOf);
    if (subject) show(deps, req, res, subject);
  });
  router.post(path, async (req, res) => {
    const subject = await reach(deps, req, res, subjectOf);
    if (!subject) return;
    const { userId } = subject.user;
    const { change, removesPhone } = changeOf(subject, req.body);
    const { api } = sessionOf(res);
    try {
      if (Object.keys(change).length > 0) await api.call('updateHumanUser', { userId }, { body: change });
      if (removesPhone) await api.call('removePhone', { userId });
    } catch (error) {
      const refusal = refusalOf(error, ['profile', 'email', 'phone']);
      return show(deps, req, res, subject, refusal);
    }
    res.redirect(303, deps.consoleUrl(`${userPath(userId)}?done=edit`));
  });
  return router;
}

/** Whether the person may change the fields of this user. */
export function mayEdit(caller: Caller, { user, details, rights }: Subject): boolean {
  if (!user.human || !may(caller, 'updateHumanUser', details.resourceOwner)) return false;
  return user.userId === caller.userId || covers(caller, rights);
}

/** @returns undefined after it has led people to the page of their own account, which asks for a proof @throws 403 */
async function reach(
  deps: ScreenDeps,
  req: Request,
  res: Response,
  subjectOf: SubjectOf,
): Promise<Subject | undefined> {
  const subject = await subjectOf(deps, req, res);
  const { caller } = sessionOf(res);
  if (!mayEdit(caller, subject)) throw permissionDenied();
  if (subject.user.userId !== caller.userId) return subject;
  res.redirect(303, `${deps.config.baseUrl}${ACCOUNT_PATHS.page}`);
  return undefined;
}

function stored({ user }: Subject): Record<Name, string> {
  if (!user.human) throw new ApiError('FAILED_PRECONDITION', 'USER-NOT-HUMAN', 'The user is not human.');
  const { profile, email, phone } = user.human;
  return {
    ...(Object.fromEntries(PROFILE.map((name) => [name, profile[name] ?? ''])) as Record<
      (typeof PROFILE)[number],
      string
    >),
    email: email.email ?? '',
    phone: phone?.phone ?? '',
  };
}

/** What differs from what is stored: an address that is sent again would have to be verified again. */
function changeOf(subject: Subject, form: unknown): { change: Sent<'updateHumanUser'>; removesPhone: boolean } {
  const before = stored(subject);
  const typed = (name: Name) => text(form, name).trim();
  const isNew = (name: Name) => typed(name) !== before[name];
  const isVerified = (of: keyof typeof VERIFIED) => (text(form, VERIFIED[of]) === '1' ? { isVerified: true } : {});
  const profile = Object.fromEntries(PROFILE.filter(isNew).map((name) => [name, typed(name)]));
  const change: Sent<'updateHumanUser'> = {
    ...(Object.keys(profile).length > 0 ? { profile } : {}),
    ...(isNew('email') ? { email: { email: typed('email'), ...isVerified('email') } } : {}),
    ...(isNew('phone') && typed('phone') !== '' ? { phone: { phone: typed('phone'), ...isVerified('phone') } } : {}),
  };
  return { change, removesPhone: before.phone !== '' && typed('phone') === '' };
}

function show(
  { consoleUrl, show: send }: ScreenDeps,
  req: Request,
  res: Response,
  subject: Subject,
  refusal?: Refusal,
) {
  const { user } = subject;
  const { kept } = sessionOf(res);
  const form: Record<string, unknown> = req.method === 'POST' ? req.body : kept;
  const isTyped = Object.keys(form).length > 0;
  const before = stored(subject);
  const title = USER_EDIT.title(nameOfUser(user));
  const one = (name: Name): Html =>
    field({
      name,
      label: USER_EDIT.fields[name],
      value: isTyped ? text(form, name) : before[name],
      isOptional: OPTIONAL.has(name),
      wrong: refusal?.wrong(name === 'email' || name === 'phone' ? name : `profile.${name}`),
      ...(name in USER_EDIT.hints ? { hint: USER_EDIT.hints[name as keyof typeof USER_EDIT.hints] } : {}),
    });
  const verified = (of: keyof typeof VERIFIED): Html => {
    const checked = text(form, VERIFIED[of]) === '1' ? html` checked` : undefined;
    return html`<div class="field"><label><input type="checkbox" name="${VERIFIED[of]}" value="1"${checked}>${USER_EDIT.verified[of]}</label></div>`;
  };
  const body = formPage({
    title,
    above: { href: consoleUrl(userPath(user.userId)), text: nameOfUser(user) },
    problem: refusal?.message,
    action: consoleUrl(`${userPath(user.userId)}/edit`),
    content: html`${PROFILE.map(one)}${one('email')}${verified('email')}${one('phone')}${verified('phone')}`,
    button: USER_EDIT.button,
  });
  send(req, res, { title, status: refusal?.status ?? 200, body });
}
