/** The screens of OAuth clients, for an IAM_OWNER. A secret is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import type { Answer } from '../contract/client.ts';
import { requirePermission } from '../contract/permissions.ts';
import { ApiError } from '../platform/errors.ts';
import { described, field, remarks, text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/html/html.ts';
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

const FIELDS = ['name', 'kind', 'redirectUris', 'postLogoutRedirectUris'] as const;

export function clientScreens(deps: ScreenDeps): Router {
  const { consoleUrl, show } = deps;
  const router = Router();
  router.get('/console/clients', async (req, res) => {
    show(req, res, { title: CLIENTS.title, body: listBody(consoleUrl, await readClients(res)) });
  });
  router.get('/console/clients/new', (req, res) => showNew(deps, req, res));
  router.post('/console/clients/new', (req, res) => create(deps, req, res));
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
  const lines = (name: string) =>
    text(req.body, name)
      .split(/\s+/)
      .filter((line) => line !== '');
  try {
    const body = {
      name: text(req.body, 'name').trim(),
      redirectUris: lines('redirectUris'),
      postLogoutRedirectUris: lines('postLogoutRedirectUris'),
      grantTypes: [...grantTypes],
      authMethod,
    };
    const made = await sessionOf(res).api.call('addClient', { body });
    if (made.clientSecret === undefined) return res.redirect(303, deps.consoleUrl('/clients'));
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
    action: consoleUrl(removePath(client.clientId)),
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
    action: consoleUrl(claimsPath(client.clientId)),
    content: html`<p>${CLIENTS.claimsHint}</p>
<div class="field">${selectField(CLIENTS.claims, 'claims', [...own, ...Object.entries(CLIENTS.claimsNames)], text(req.body, 'claims') || (own[0]?.[0] ?? NONE))}</div>
${field({ name: 'claimsNamespace', ...namespace, wrong })}
${client.claims.length === 0 ? undefined : claimTable(client)}`,
    button: CLIENTS.save,
    back: CLIENTS.back,
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
  const { title, name, id, kind, kinds, redirectUris, created, claims, action, remove } = CLIENTS;
  const rows = clients.map(
    (client) => html`<tr><th scope="row">${client.name}</th>
<td data-label="${id}"><code>${client.clientId}</code></td>
<td data-label="${kind}">${kinds[kindOf(client)]}</td>
<td data-label="${redirectUris}"><span>${client.redirectUris.join(' ')}</span></td>
<td data-label="${created}">${time(client.details.creationDate)}</td>
<td data-label="${claims}"><a href="${consoleUrl(claimsPath(client.clientId))}">${claims}<span class="sr"> ${client.name}</span></a></td>
<td data-label="${action}"><a href="${consoleUrl(removePath(client.clientId))}">${remove}<span class="sr"> ${client.name}</span></a></td></tr>\n`,
  );
  return html`<section class="card flush">${table(title, [name, id, kind, redirectUris, created, claims, action], rows)}</section>`;
}

function kindOf({ authMethod, grantTypes }: Client): Kind {
  if (authMethod === 'none') return 'native';
  return grantTypes.includes('authorization_code') ? 'web' : 'service';
}

function claimsPath(clientId: string): string {
  return `/clients/${encodeURIComponent(clientId)}/claims`;
}

function removePath(clientId: string): string {
  return `/clients/${encodeURIComponent(clientId)}/remove`;
}

function createBody(consoleUrl: ConsoleUrl, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const kinds = Object.entries(CLIENTS.kinds);
  return formPage({
    title: CLIENTS.create,
    above: { href: consoleUrl('/clients'), text: CLIENTS.title },
    problem: refusal?.message,
    action: consoleUrl('/clients/new'),
    content: html`${field({ name: 'name', label: CLIENTS.name, value: values.name, hint: CLIENTS.nameHint, wrong: refusal?.wrong('name') })}
<div class="field">${selectField(CLIENTS.kind, 'kind', kinds, values.kind || 'web')}</div>
${lines('redirectUris', CLIENTS.redirectUris, values, refusal)}
${lines('postLogoutRedirectUris', CLIENTS.logoutUris, values, refusal)}
<p>${CLIENTS.createEffect}</p>`,
    button: CLIENTS.create,
  });
}

/** Addresses, one in each line. */
function lines(name: string, label: string, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const about = { name, hint: CLIENTS.linesHint, wrong: refusal?.wrong(name) };
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="3" cols="48" spellcheck="false"${described(about)}>
${values[name] ?? ''}</textarea>${remarks(about)}</div>`;
}
