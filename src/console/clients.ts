/** The screens of OAuth clients, for an IAM_OWNER. A secret is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import type { Answer } from '../contract/client.ts';
import { requirePermission } from '../contract/permissions.ts';
import { ApiError } from '../platform/errors.ts';
import { described, field, remarks, text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import { startBody } from './client-start.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { empty, formPage, headline, list, selectField, table, time } from './shell/blocks.ts';
import { type Refusal, refusalOf } from './shell/errors.ts';
import { ONCE_SCRIPTS, secretShownOnce } from './shell/once.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { CLIENTS } from './texts/clients.ts';
import { ONCE } from './texts/frame.ts';

/** What an application is, by the way in which it can keep a secret. */
const KINDS = {
  web: { grantTypes: ['authorization_code', 'refresh_token'], authMethod: 'client_secret_basic' },
  native: { grantTypes: ['authorization_code', 'refresh_token'], authMethod: 'none' },
  service: { grantTypes: ['client_credentials'], authMethod: 'client_secret_basic' },
} as const;
type Kind = keyof typeof KINDS;

const EDITED = ['name', 'redirectUris', 'postLogoutRedirectUris'] as const;
const FIELDS = [...EDITED, 'kind'] as const;

export function clientScreens(deps: ScreenDeps): Router {
  const { consoleUrl, show } = deps;
  const router = Router();
  router.get('/console/clients', async (req, res) => {
    show(req, res, { title: CLIENTS.title, body: listBody(consoleUrl, await readClients(res)) });
  });
  router.get('/console/clients/new', (req, res) => showNew(deps, req, res));
  router.post('/console/clients/new', (req, res) => create(deps, req, res));
  router.get('/console/clients/:clientId/start', (req, res) => showStart(deps, req, res));
  router.get('/console/clients/:clientId/edit', (req, res) => showEdit(deps, req, res));
  router.post('/console/clients/:clientId/edit', (req, res) => edit(deps, req, res));
  router.get('/console/clients/:clientId/claims', (req, res) => showClaims(deps, req, res));
  router.post('/console/clients/:clientId/claims', (req, res) => saveClaims(deps, req, res));
  router.get('/console/clients/:clientId/remove', (req, res) => showRemoval(deps, req, res));
  router.post('/console/clients/:clientId/remove', (req, res) => remove(deps, req, res));
  return router;
}

async function readClients(res: Response): Promise<Client[]> {
  return (await sessionOf(res).api.call('listClients')).result;
}

function showNew({ consoleUrl, show }: ScreenDeps, req: Request, res: Response, refusal?: Refusal): void {
  const { caller, kept } = sessionOf(res);
  requirePermission(caller, 'addClient');
  const values = Object.fromEntries(FIELDS.map((name) => [name, text(req.body, name) || kept[name] || '']));
  show(req, res, {
    title: CLIENTS.create,
    status: refusal?.status ?? 200,
    body: createBody(consoleUrl, values, refusal),
  });
}

async function create(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const kind = text(req.body, 'kind');
  const { grantTypes, authMethod } = KINDS[Object.hasOwn(KINDS, kind) ? (kind as Kind) : 'web'];
  try {
    const body = {
      ...typedIn(req),
      grantTypes: [...grantTypes],
      authMethod,
    };
    const made = await sessionOf(res).api.call('addClient', { body });
    if (made.clientSecret === undefined) return res.redirect(303, deps.consoleUrl(pathOf(made.clientId, 'start')));
    const values: [string, string][] = [
      [CLIENTS.id, made.clientId],
      [CLIENTS.secret, made.clientSecret],
    ];
    const back = { href: deps.consoleUrl('/clients'), text: CLIENTS.title };
    deps.show(req, res, { title: ONCE.title, body: secretShownOnce(ONCE.title, values, back), scripts: ONCE_SCRIPTS });
  } catch (error) {
    showNew(deps, req, res, refusalOf(error, FIELDS));
  }
}

/** Whether people sign in to it, so that it has redirect URIs. */
function signsIn({ grantTypes }: Client): boolean {
  return grantTypes.includes('authorization_code');
}

/** The fields that a new client and a changed one have. */
function typedIn({ body }: Request) {
  const lines = (name: string) =>
    text(body, name)
      .split(/\s+/)
      .filter((line) => line !== '');
  return {
    name: text(body, 'name').trim(),
    redirectUris: lines('redirectUris'),
    postLogoutRedirectUris: lines('postLogoutRedirectUris'),
  };
}

async function showStart({ consoleUrl, show, config }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const client = await clientOf(req, res);
  const body = startBody(consoleUrl, client, config.baseUrl);
  show(req, res, { title: CLIENTS.startTitle(client.name), body, scripts: ONCE_SCRIPTS });
}

async function showEdit(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const client = await clientOf(req, res);
  const { kept } = sessionOf(res);
  const { name, redirectUris, postLogoutRedirectUris } = client;
  const stored = {
    name,
    redirectUris: redirectUris.join('\n'),
    postLogoutRedirectUris: postLogoutRedirectUris.join('\n'),
  };
  const form: Record<string, unknown> = req.method === 'POST' ? req.body : kept;
  const typed = Object.fromEntries(EDITED.map((one) => [one, text(form, one)]));
  const values = Object.keys(form).length > 0 ? typed : stored;
  const title = CLIENTS.editTitle(name);
  const body = formPage({
    title,
    above: { href: consoleUrl('/clients'), text: CLIENTS.title },
    problem: refusal?.message,
    action: consoleUrl(pathOf(client.clientId, 'edit')),
    content: html`${nameField(values, refusal)}${signsIn(client) ? uriFields(values, refusal) : undefined}<p>${CLIENTS.editHint}</p>`,
    button: CLIENTS.save,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

async function edit(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const client = await clientOf(req, res);
  const typed = typedIn(req);
  const edited = signsIn(client) ? EDITED : (['name'] as const);
  const body = Object.fromEntries(edited.map((name) => [name, typed[name]])) as Partial<typeof typed>;
  const isSame = edited.every((name) => String(typed[name]) === String(client[name]));
  try {
    if (!isSame) await sessionOf(res).api.call('updateClient', { clientId: client.clientId }, { body });
  } catch (error) {
    return showEdit(deps, req, res, refusalOf(error, EDITED));
  }
  res.redirect(303, deps.consoleUrl('/clients'));
}

async function showRemoval(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const client = await clientOf(req, res);
  const title = CLIENTS.removeTitle(client.name);
  const body = formPage({
    title,
    above: { href: consoleUrl('/clients'), text: CLIENTS.title },
    problem: refusal?.message,
    action: consoleUrl(pathOf(client.clientId, 'remove')),
    content: list(CLIENTS.removeEffects),
    button: CLIENTS.remove,
    back: CLIENTS.back,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

/** @throws ApiError when there is no such client */
async function clientOf(req: Request, res: Response): Promise<Client> {
  const client = (await readClients(res)).find(({ clientId }) => clientId === req.params.clientId);
  if (!client) throw new ApiError('NOT_FOUND', 'CLIENT-NOT-FOUND', 'The client does not exist.');
  return client;
}

/** In place of a preset: as the claims are, and none. */
const OWN = 'own';
const NONE = 'none';

async function showClaims(
  { consoleUrl, show }: ScreenDeps,
  req: Request,
  res: Response,
  refusal?: Refusal,
): Promise<void> {
  const client = await clientOf(req, res);
  const title = CLIENTS.claimsTitle(client.name);
  const own: [string, string][] = [
    ...(client.claims.length > 0 ? [[OWN, CLIENTS.claimsOwn] as [string, string]] : []),
    [NONE, CLIENTS.claimsNone],
  ];
  const wrong = refusal?.wrong('claimsNamespace');
  const namespace = { label: CLIENTS.namespace, value: text(req.body, 'claimsNamespace'), hint: CLIENTS.namespaceHint };
  const body = formPage({
    title,
    above: { href: consoleUrl('/clients'), text: CLIENTS.title },
    problem: refusal?.message,
    action: consoleUrl(pathOf(client.clientId, 'claims')),
    content: html`<p>${CLIENTS.claimsHint}</p>
<div class="field">${selectField(CLIENTS.claims, 'claims', [...own, ...Object.entries(CLIENTS.claimsNames)], text(req.body, 'claims') || (own[0]?.[0] ?? NONE))}</div>
${field({ name: 'claimsNamespace', ...namespace, wrong })}
${client.claims.length === 0 ? undefined : claimTable(client)}`,
    button: CLIENTS.save,
    back: CLIENTS.back,
    isHarmless: true,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

function claimTable({ name, claims }: Client): Html {
  const rows = claims.map(
    ({ claim, from, in: places }) => html`<tr><th scope="row"><code>${claim}</code></th>
<td data-label="${CLIENTS.from}"><code>${from}</code></td>
<td data-label="${CLIENTS.places}">${places.join(', ')}</td></tr>\n`,
  );
  return table(CLIENTS.claimsTitle(name), [CLIENTS.claim, CLIENTS.from, CLIENTS.places], rows);
}

async function saveClaims(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const chosen = text(req.body, 'claims');
  const claimsNamespace = text(req.body, 'claimsNamespace').trim() || undefined;
  const body =
    chosen === NONE ? { claims: [], accessTokenType: 'opaque' as const } : { claimsPreset: chosen, claimsNamespace };
  try {
    if (chosen !== OWN)
      await sessionOf(res).api.call('updateClient', { clientId: String(req.params.clientId) }, { body });
  } catch (error) {
    return showClaims(deps, req, res, refusalOf(error, ['claimsNamespace']));
  }
  res.redirect(303, deps.consoleUrl('/clients'));
}

async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  try {
    await sessionOf(res).api.call('removeClient', { clientId: String(req.params.clientId) });
  } catch (error) {
    return showRemoval(deps, req, res, refusalOf(error));
  }
  res.redirect(303, deps.consoleUrl('/clients'));
}

type Client = Answer<'listClients'>['result'][number];

function listBody(consoleUrl: ConsoleUrl, clients: readonly Client[]): Html {
  const create = html`<a class="button" href="${consoleUrl('/clients/new')}">${CLIENTS.create}</a>`;
  return html`${headline(CLIENTS.title, undefined, create)}
${clients.length === 0 ? empty(CLIENTS.none, CLIENTS.noneHint) : clientTable(consoleUrl, clients)}`;
}

function clientTable(consoleUrl: ConsoleUrl, clients: readonly Client[]): Html {
  const { title, name, id, kind, kinds, redirectUris, created, action } = CLIENTS;
  const link = (client: Client, page: Page) =>
    html`<a href="${consoleUrl(pathOf(client.clientId, page))}">${CLIENTS[page]}<span class="sr"> ${client.name}</span></a>\n`;
  const rows = clients.map(
    (client) => html`<tr><th scope="row">${client.name}</th>
<td data-label="${id}"><code>${client.clientId}</code></td>
<td data-label="${kind}">${kinds[kindOf(client)]}</td>
<td data-label="${redirectUris}">${client.redirectUris.length > 0 ? list(client.redirectUris, 'plain') : undefined}</td>
<td data-label="${created}">${time(client.details.creationDate)}</td>
<td data-label="${action}"><div class="links">${PAGES.map((page) => link(client, page))}</div></td></tr>\n`,
  );
  return html`<section class="card flush">${table(title, [name, id, kind, redirectUris, created, action], rows)}</section>`;
}

function kindOf({ authMethod, grantTypes }: Client): Kind {
  if (authMethod === 'none') return 'native';
  return grantTypes.includes('authorization_code') ? 'web' : 'service';
}

/** The pages of a client, in the order in which they are offered. */
const PAGES = ['start', 'edit', 'claims', 'remove'] as const;
type Page = (typeof PAGES)[number];

function pathOf(clientId: string, page: Page): string {
  return `/clients/${encodeURIComponent(clientId)}/${page}`;
}

function createBody(consoleUrl: ConsoleUrl, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const kinds = Object.entries(CLIENTS.kinds);
  return formPage({
    title: CLIENTS.create,
    above: { href: consoleUrl('/clients'), text: CLIENTS.title },
    problem: refusal?.message,
    action: consoleUrl('/clients/new'),
    content: html`<div class="field">${selectField(CLIENTS.kind, 'kind', kinds, values.kind || 'web')}</div>
${nameField(values, refusal)}${uriFields(values, refusal)}
<p>${CLIENTS.createEffect}</p>`,
    button: CLIENTS.create,
  });
}

type Values = Readonly<Record<string, string>>;

function nameField(values: Values, refusal?: Refusal): Html {
  const { name: label, nameHint: hint } = CLIENTS;
  return field({ name: 'name', label, value: values.name, hint, wrong: refusal?.wrong('name') });
}

function uriFields(values: Values, refusal?: Refusal): Html {
  return html`${lines('redirectUris', CLIENTS.redirectUris, values, refusal)}
${lines('postLogoutRedirectUris', CLIENTS.logoutUris, values, refusal)}`;
}

/** Addresses, one in each line. */
function lines(name: string, label: string, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const about = { name, hint: CLIENTS.linesHint, wrong: refusal?.wrong(name) };
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="3" cols="48" spellcheck="false"${described(about)}>
${values[name] ?? ''}</textarea>${remarks(about)}</div>`;
}
