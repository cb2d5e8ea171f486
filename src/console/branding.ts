/**
 * The page for the name, logo, colours, links and sentences of an organization, and of the service, with a preview of
 * the sign-in page and of mails as they would be.
 *
 * Guarantee: a preview is a page of its own in a frame: it has no script, its forms lead nowhere, and what was typed
 * is in it only as far as a branding may contain it. Without JavaScript buttons show it, and send the logo as a form.
 */
import express, { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import {
  BRANDING_FIELDS,
  type BrandingField,
  brandingBody,
  type GivenBranding,
  OWN_TEXTS,
  type OwnText,
  THEMES,
} from '../contract/branding.ts';
import type { Answer, Sent } from '../contract/client.ts';
import { MOST_LOGO_BYTES } from '../contract/logo.ts';
import { requirePermission } from '../contract/permissions.ts';
import { invalidArgument } from '../platform/errors.ts';
import { type PageBranding, setBranding } from '../platform/html/branding.ts';
import { described, field, hidden, remarks, text } from '../platform/html/forms.ts';
import { renderPage } from '../platform/html/layout.ts';
import { say } from '../platform/messages/catalogue.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { ScreenDeps } from './deps.ts';
import { orgOf, orgPath } from './organizations.ts';
import { sessionOf } from './session.ts';
import { choices, headline, notice, queryOf, selectField } from './shell/blocks.ts';
import { type Refusal, refusalOf, saidOnce } from './shell/errors.ts';
import { sendMailDocument } from './shell/mail-frame.ts';
import { BRANDING as TEXTS } from './texts/branding.ts';
import { SYSTEM } from './texts/system.ts';

type Policy = Answer<'getBranding'>['policy'];

/** Whose branding a page changes. */
interface Owner {
  /** Undefined: of the service. */
  org: string | undefined;
  title: string;
  above: { href: string; text: string };
  /** Of the page. */
  path: string;
}

const OF_ORG = '/console/organizations/:orgId/branding';
const OF_SERVICE = '/console/system/branding';

export function brandingScreens(deps: ScreenDeps): Router {
  const router = Router();
  for (const path of [OF_ORG, OF_SERVICE]) {
    const isOfOrg = path === OF_ORG;
    const owner = (req: Request, res: Response) => (isOfOrg ? ofOrg(deps, req, res) : ofService(deps, res));
    router.get(path, async (req, res) => showForm(deps, await owner(req, res), req, res));
    router.post(path, readUpload, tooLargeUpload, async (req: Request, res: Response) =>
      send(deps, await owner(req, res), req, res),
    );
    router.get(`${path}/frame`, async (req, res) => showFrame(await owner(req, res), req, res));
  }
  return router;
}

const UPLOAD = 'multipart/form-data';
/** Of a form with a logo; what is larger than a logo may be is refused beside its field. */
const readUpload = express.raw({ type: UPLOAD, inflate: false, limit: 16 * MOST_LOGO_BYTES });

const tooLargeUpload: ErrorRequestHandler = (error, _req, res, next) => {
  if ((error as { type?: unknown }).type !== 'entity.too.large') return next(error);
  res.locals.isTooLarge = true;
  next();
};

/** The page of the form, below `/console`. */
export function brandingPath(orgId: string): string {
  return `${orgPath(orgId)}/branding`;
}

async function ofOrg({ consoleUrl }: ScreenDeps, req: Request, res: Response): Promise<Owner> {
  const { id, name } = await orgOf(req, res);
  requirePermission(sessionOf(res).caller, 'updateBranding', id);
  const above = { href: consoleUrl(orgPath(id)), text: name };
  return { org: id, title: TEXTS.titleOf(name), above, path: consoleUrl(brandingPath(id)) };
}

function ofService({ consoleUrl }: ScreenDeps, res: Response): Owner {
  requirePermission(sessionOf(res).caller, 'updateDefaultBranding');
  const above = { href: consoleUrl('/system'), text: SYSTEM.title };
  return { org: undefined, title: TEXTS.title, above, path: consoleUrl('/system/branding') };
}

async function policyOf({ org }: Owner, res: Response): Promise<Policy> {
  const { api } = sessionOf(res);
  const answer = await (org === undefined ? api.call('getInstanceBranding') : api.call('getBranding', { org }));
  return answer.policy;
}

async function send(deps: ScreenDeps, owner: Owner, req: Request, res: Response): Promise<void> {
  const { org } = owner;
  const step = text(req.body, 'step');
  if (step.startsWith('preview')) return showForm(deps, owner, req, res);
  if (step === 'reset' && org !== undefined) {
    await sessionOf(res).api.call('resetBranding', { org });
    return res.redirect(303, `${owner.path}?done=branding`);
  }
  try {
    if (step === 'removeLogo') await update(owner, res, { reset: ['logo'] });
    else if (req.is(UPLOAD)) await update(owner, res, { logo: await uploadedLogo(req, res) });
    else await update(owner, res, changesOf(await policyOf(owner, res), req));
    res.redirect(303, `${owner.path}?done=branding`);
  } catch (error) {
    await showForm(deps, owner, req, res, refusalOf(error, BRANDING_FIELDS));
  }
}

async function update({ org }: Owner, res: Response, body: Sent<'updateBranding'>): Promise<void> {
  const { api } = sessionOf(res);
  if (Object.keys(body).length === 0) return;
  await (org === undefined ? api.call('updateDefaultBranding', { body }) : api.call('updateBranding', { org, body }));
}

/** The file of the form as a data URL, as the script sends it; what it is the API checks. @throws ApiError 400 */
async function uploadedLogo(req: Request, res: Response): Promise<string> {
  const file = res.locals.isTooLarge ? undefined : await fileOf(req);
  if (file && file.size <= MOST_LOGO_BYTES) {
    return `data:${file.type};base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`;
  }
  const description = file || res.locals.isTooLarge ? TEXTS.logoTooLarge(MOST_LOGO_BYTES / 1024) : TEXTS.logoMissing;
  throw invalidArgument('POLICY-BRANDING-INVALID', description, [{ field: 'logo', description }]);
}

/** Undefined for a body that is no such form, or without a file. */
async function fileOf(req: Request): Promise<File | undefined> {
  const headers = { 'content-type': req.get('content-type') ?? '' };
  try {
    const file = (await new Response(req.body as Buffer<ArrayBuffer>, { headers }).formData()).get('logo');
    return file instanceof File && file.size > 0 ? file : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** What the form has; the logo has a form of its own. */
const FIELDS = BRANDING_FIELDS.filter((name) => name !== 'logo');

/** As text; empty if it is not set here. */
function ownValue(policy: Policy, name: BrandingField): string {
  if (!policy.own.includes(name)) return '';
  const [outer, inner] = name.split('.') as [keyof Policy, string?];
  const value: unknown = policy[outer];
  return String((inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner]) ?? '');
}

/** What was typed: line ends as texts have them. */
function typedValue(req: Request, name: BrandingField): string {
  return text(req.body, name).replaceAll('\r\n', '\n').trim();
}

/** What differs from what is stored. */
function changesOf(policy: Policy, req: Request): Sent<'updateBranding'> {
  const body: Record<string, unknown> = {};
  const reset: BrandingField[] = [];
  for (const name of FIELDS) {
    const typed = name === 'theme' && typedValue(req, name) === 'none' ? '' : typedValue(req, name);
    if (typed === ownValue(policy, name)) continue;
    if (typed === '') reset.push(name);
    else assign(body, name, typed);
  }
  return { ...body, ...(reset.length > 0 ? { reset } : {}) };
}

function assign(body: Record<string, unknown>, name: BrandingField, typed: string): void {
  const [outer, inner] = name.split('.') as [string, string?];
  const value = name === 'cornerRadius' && /^\d{1,3}$/.test(typed) ? Number(typed) : typed;
  body[outer] = inner === undefined ? value : { ...(body[outer] as object | undefined), [inner]: value };
}

async function showForm(
  { show }: ScreenDeps,
  owner: Owner,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const policy = await policyOf(owner, res);
  const isSent = req.method === 'POST' && !req.is(UPLOAD);
  const shownOf = (name: BrandingField) => (isSent ? typedValue(req, name) : ownValue(policy, name));
  const { colors, isShifted } = policy;
  const [, asked] = text(req.body, 'step').split('preview.');
  const mail = mailOf(asked ?? text(req.body, 'shown'));
  const body = html`${headline(owner.title, owner.above)}
${notice(saidOnce(res) === 'branding' ? TEXTS.done : undefined)}${notice(refusal?.message, 'bad')}
${isShifted ? notice(TEXTS.shifted(colors.light.accent, colors.dark.accent), 'warn') : undefined}
${logoCard(owner, policy, refusal?.wrong('logo'))}
<branding-form><form class="card confirm" method="post" action="${owner.path}">
<p>${owner.org === undefined ? TEXTS.aboutService : TEXTS.about}</p>
${FIELDS.filter((name) => !isText(name)).map((name) => fieldOf(name, shownOf(name), refusal))}
<h2>${TEXTS.texts}</h2><p class="soft small">${TEXTS.textsHint}</p>
${FIELDS.filter(isText).map((name) => textOf(owner, name, shownOf(name), refusal))}
<div class="field">${selectField(TEXTS.shown, 'shown', previewChoices(), mail ?? '')}</div>
<div class="buttons"><button type="submit" name="step" value="save">${TEXTS.save}</button>
<button class="quiet" type="submit" name="step" value="preview" formaction="${owner.path}#${PREVIEWS}">${TEXTS.preview}</button></div></form>
${frames(owner, Object.fromEntries(FIELDS.map((name) => [name, shownOf(name)])), mail)}</branding-form>
${owner.org === undefined || policy.own.length === 0 ? undefined : resetForm(owner)}`;
  show(req, res, {
    title: owner.title,
    status: refusal?.status ?? 200,
    body,
    scripts: ['branding.ts'],
    frames: true,
  });
}

function fieldOf(name: BrandingField, value: string, refusal: Refusal | undefined): Html {
  const label = TEXTS.labels[name];
  if (name === 'theme') return choices(label, name, TEXTS.themes, value === '' ? 'none' : value);
  const hint = TEXTS.hints[name];
  const about = { name, wrong: refusal?.wrong(name), ...(hint === undefined ? {} : { hint }) };
  return field({ ...about, label, value, isOptional: true });
}

type TextField = `texts.${OwnText}`;

function isText(name: BrandingField): name is TextField {
  return name.startsWith('texts.');
}

/** Sentences of a mail, with the button that shows the mail: with a script, the preview beside them follows. */
function textOf({ path }: Owner, name: TextField, value: string, refusal: Refusal | undefined): Html {
  const about = { name, wrong: refusal?.wrong(name) };
  const mail = name.slice('texts.'.length);
  return html`<div class="field"><label for="${name}">${TEXTS.labels[name]}</label>
<textarea id="${name}" name="${name}" rows="4" maxlength="2000" dir="auto" data-mail="${mail}"${described(about)}>${value}</textarea>
${remarks(about)}<button class="quiet small without-script" type="submit" name="step" value="preview.${mail}" formaction="${path}#${PREVIEWS}">${TEXTS.showMail}<span class="sr">: ${TEXTS.labels[name]}</span></button></div>`;
}

/** The logo is stored at once. With a script what was typed beside it stays. @param wrong with the file that was sent */
function logoCard({ org, path }: Owner, { own, logoUrl }: Policy, wrong: string | undefined): Html {
  const hiddenIf = (isHidden: boolean) => (isHidden ? html` hidden` : undefined);
  const src = logoUrl === undefined ? undefined : html` src="${new URL(logoUrl).pathname}"`;
  const isOwn = own.includes('logo');
  const about = { name: 'logo', wrong: wrong && `${TEXTS.logoRefused} ${wrong}` };
  return html`<section class="card"><h2>${TEXTS.labels.logo}</h2>
<logo-file org="${org ?? ''}" refused="${TEXTS.logoRefused}"><p class="soft" data-none${hiddenIf(logoUrl !== undefined)}>${TEXTS.noLogo}</p>
<p><img class="brand-logo" alt="${TEXTS.labels.logo}"${src}${hiddenIf(logoUrl === undefined)}></p>
<p class="notice bad" role="alert" hidden></p>
<div class="without-script"><form method="post" enctype="${UPLOAD}" action="${path}"><div class="field"><label for="logo">${TEXTS.chooseLogo}</label>
<input id="logo" name="logo" type="file" accept="image/png,image/webp" required${described(about)}>
${remarks(about)}</div><button class="quiet">${TEXTS.sendLogo}</button></form>
${isOwn ? html`<form method="post" action="${path}">${hidden({ step: 'removeLogo' })}<button class="quiet">${TEXTS.removeLogo}</button></form>` : undefined}</div>
<div class="buttons with-script" hidden><label class="button quiet">${TEXTS.chooseLogo}<input class="sr" type="file" accept="image/png,image/webp"></label><button type="button" class="quiet" data-remove${hiddenIf(!isOwn)}>${TEXTS.removeLogo}</button></div></logo-file></section>`;
}

/** The mails that have sentences of their own, behind the page. */
function previewChoices(): [string, string][] {
  const mails = Object.keys(OWN_TEXTS) as OwnText[];
  return [['', TEXTS.signInPage], ...mails.map((name): [string, string] => [name, TEXTS.labels[`texts.${name}`]])];
}

function mailOf(shown: string): OwnText | undefined {
  return Object.hasOwn(OWN_TEXTS, shown) ? (shown as OwnText) : undefined;
}

/** What the preview shows of what was typed; a mail also has its sentences. */
const SHOWN = [
  ...(['name', 'primaryColor', 'backgroundColor', 'theme', 'cornerRadius', 'supportEmail', 'language'] as const),
  ...(['links.help', 'links.terms', 'links.privacy'] as const),
] as const;

/** The id of the previews. */
const PREVIEWS = 'previews';

function frames({ path }: Owner, values: Readonly<Record<string, string>>, mail: OwnText | undefined): Html {
  const all = Object.fromEntries(SHOWN.map((name) => [name, values[name] ?? ''] as const));
  const ofMail = mail && { shown: mail, sentences: packed(values[`texts.${mail}`] ?? '') };
  const src = `${path}/frame${queryOf({ ...all, ...ofMail })}`;
  const frame = (look: string, title: string) =>
    html`<figure><figcaption>${title}</figcaption><iframe class="preview ${look}" sandbox title="${TEXTS.preview}: ${title}" src="${src}" data-frame="${path}/frame"></iframe></figure>\n`;
  return html`<section class="card previews" id="${PREVIEWS}" tabindex="0" aria-labelledby="${PREVIEWS}-title"><h2 id="${PREVIEWS}-title">${TEXTS.preview}</h2>
${frame('phone', TEXTS.phone)}${frame('desktop', TEXTS.desktop)}</section>`;
}

function resetForm({ path }: Owner): Html {
  return html`<form class="card confirm" method="post" action="${path}"><h2>${TEXTS.resetTitle}</h2>
<p>${TEXTS.resetEffect}</p>${hidden({ step: 'reset' })}
<div class="buttons"><button class="quiet" type="submit">${TEXTS.reset}</button></div></form>`;
}

/** Sentences are long, and percent-encoding makes them up to three times as long: an address has limits. */
function packed(sentences: string): string {
  return Buffer.from(sentences).toString('base64url');
}

/** What was typed, as it would be; what a branding may not contain is as it is stored. */
async function showFrame(owner: Owner, req: Request, res: Response): Promise<void> {
  const mail = mailOf(text(req.query, 'shown'));
  return mail === undefined ? showSignInPage(owner, req, res) : showMail(owner, mail, req, res);
}

/**
 * A mail as the service makes it. The mails of the service have no organization: for them the person's own is the
 * example, without anything that it has set itself.
 */
async function showMail({ org }: Owner, mail: OwnText, req: Request, res: Response): Promise<void> {
  const { api, caller } = sessionOf(res);
  const sentences = Buffer.from(text(req.query, 'sentences'), 'base64url').toString();
  const { data } = brandingBody.safeParse({ texts: { [mail]: sentences } });
  const isEmpty = (name: BrandingField) =>
    name === `texts.${mail}` ? sentences === '' : isShown(name) && queried(req, name) === '';
  const reset = BRANDING_FIELDS.filter((name) => org === undefined || isEmpty(name));
  const branding = { ...goodValues(req), ...(data?.texts ? { texts: data.texts } : {}), reset };
  const body = { kind: OWN_TEXTS[mail], branding } as Sent<'previewMail'>;
  const { html: document } = await api.call('previewMail', { org: org ?? caller.orgId, body });
  sendMailDocument(res, document);
}

/** A value of the address; empty for a theme as in the service. */
function queried(req: Request, name: BrandingField): string {
  const value = text(req.query, name);
  return name === 'theme' && !(THEMES as readonly string[]).includes(value) ? '' : value;
}

function isShown(name: BrandingField): boolean {
  return (SHOWN as readonly BrandingField[]).includes(name);
}

async function showSignInPage(owner: Owner, req: Request, res: Response): Promise<void> {
  const policy = await policyOf(owner, res);
  const logoPath = policy.logoUrl === undefined ? undefined : new URL(policy.logoUrl).pathname;
  setBranding({ ...policy, ...goodValues(req), logoPath } as PageBranding);
  const { application, loginName } = TEXTS.sample;
  const page = {
    title: TEXTS.previewTitle,
    reopenedBy: 'nothing',
    body: html`<h1>${say('login.title')}</h1>
<p>${application}</p>
<form>${field({ name: 'loginName', label: say('login.name', { names: 'loginName_email' }), value: loginName })}
<button type="button">${say('common.continue')}</button></form>
<p class="links"><a href="#">${say('common.forgotPassword')}</a></p>`,
  } as const;
  const { headers, markup } = renderPage(page);
  const policyHeader = headers['Content-Security-Policy'];
  res
    .set({ ...headers, 'X-Frame-Options': 'SAMEORIGIN' })
    .set(
      'Content-Security-Policy',
      `${policyHeader.replace("frame-ancestors 'none'", "frame-ancestors 'self'").replace(/form-action [^;]+/, "form-action 'none'")}; sandbox`,
    )
    .send(markup);
}

/** Each value of the address that a branding may have. */
function goodValues(req: Request): Partial<GivenBranding> {
  let good: Partial<GivenBranding> = {};
  for (const name of SHOWN) {
    const value = queried(req, name);
    if (value === '') continue;
    const one: Record<string, unknown> = {};
    assign(one, name, value);
    const { data } = brandingBody.safeParse(one);
    if (data) good = { ...good, ...data, links: { ...good.links, ...data.links } };
  }
  return good;
}
