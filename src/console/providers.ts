/**
 * The screens of identity providers, of an organization for its owners and of the service for an IAM_OWNER: the list, a
 * new one by its type, one with its form, its removal.
 *
 * Guarantee: no page has a secret; an empty field of a secret keeps the one that is stored.
 */
import { type Request, type Response, Router } from 'express';
import type { Sent } from '../contract/client.ts';
import { IDP_TYPES, type IdpType, OAUTH_TYPES, PRESETS } from '../contract/idp-presets.ts';
import { requirePermission } from '../contract/permissions.ts';
import { ApiError } from '../platform/errors.ts';
import { text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import { ownValue } from '../platform/text/names.ts';
import type { ScreenDeps } from './deps.ts';
import { orgOf, orgPath } from './organizations.ts';
import { type Provider, providerFieldNames, providerFields, type Values } from './provider-fields.ts';
import { sessionOf } from './session.ts';
import {
  empty,
  facts,
  formPage,
  headline,
  type Link,
  list,
  notice,
  parameter,
  queryOf,
  state,
  table,
} from './shell/blocks.ts';
import { type Refusal, refusalOf, saidOnce } from './shell/errors.ts';
import { ONCE_SCRIPTS } from './shell/once.ts';
import { PROVIDERS as TEXTS } from './texts/providers.ts';
import { FINDING_STATES, SYSTEM } from './texts/system.ts';

const OF_ORG = '/console/organizations/:orgId/providers';
const OF_SERVICE = '/console/system/providers';

/** Whose providers a page shows. */
interface Owner {
  /** Undefined: the service. */
  orgId: string | undefined;
  name: string;
  /** Of the list, below `/console`. */
  path: string;
  above: Link;
}

export function providerScreens(deps: ScreenDeps): Router {
  const router = Router();
  for (const path of [OF_ORG, OF_SERVICE]) {
    router.get(path, (req, res) => showAll(deps, req, res));
    router.get(`${path}/new`, (req, res) => showNew(deps, req, res));
    router.post(`${path}/new`, (req, res) => add(deps, req, res));
    router.get(`${path}/:idpId`, (req, res) => showOne(deps, req, res));
    router.post(`${path}/:idpId`, (req, res) => save(deps, req, res));
    router.get(`${path}/:idpId/check`, (req, res) => showCheck(deps, req, res));
    router.get(`${path}/:idpId/remove`, (req, res) => showRemoval(deps, req, res));
    router.post(`${path}/:idpId/remove`, (req, res) => remove(deps, req, res));
  }
  return router;
}

/** The list of the providers of an organization; without one, of the service. Below `/console`. */
export function providersPath(orgId?: string): string {
  return orgId === undefined ? '/system/providers' : `${orgPath(orgId)}/providers`;
}

/** @throws ApiError 403 unless the person may manage the providers */
async function ownerOf({ consoleUrl }: ScreenDeps, req: Request, res: Response): Promise<Owner> {
  const { caller } = sessionOf(res);
  if (req.params.orgId === undefined) {
    requirePermission(caller, 'listInstanceIdps');
    const above = { href: consoleUrl('/system'), text: SYSTEM.title };
    return { orgId: undefined, name: TEXTS.service, path: providersPath(), above };
  }
  const { id, name } = await orgOf(req, res);
  requirePermission(caller, 'listIdps', id);
  return { orgId: id, name, path: providersPath(id), above: { href: consoleUrl(orgPath(id)), text: name } };
}

async function showAll(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { consoleUrl, show } = deps;
  const owner = await ownerOf(deps, req, res);
  const { api } = sessionOf(res);
  const { result } = await (owner.orgId === undefined
    ? api.call('listInstanceIdps')
    : api.call('listIdps', { org: owner.orgId }));
  const button = html`<a class="button" href="${consoleUrl(`${owner.path}/new`)}">${TEXTS.add}</a>`;
  const title = TEXTS.titleOf(owner.name);
  const body = html`${headline(title, owner.above, button)}
${notice(ownValue(TEXTS.done, saidOnce(res)))}<p class="soft">${TEXTS.about}</p>
${result.length === 0 ? empty(TEXTS.none, TEXTS.noneHint) : listOf((idpId) => consoleUrl(onePath(owner, idpId)), result)}`;
  show(req, res, { title, body });
}

function listOf(hrefOf: (idpId: string) => string, providers: readonly Provider[]): Html {
  const rows = providers.map(
    ({ idpId, name, type, isEnabled, aliases }) => html`<tr><th scope="row"><a href="${hrefOf(idpId)}">${name}</a></th>
<td data-label="${TEXTS.type}">${TEXTS.types[type]}</td>
<td data-label="${TEXTS.state}">${state(isEnabled ? TEXTS.on : TEXTS.off)}</td>
<td data-label="${TEXTS.aliases}"><span>${aliases.join(', ')}</span></td>
<td data-label="${TEXTS.action}"><a href="${hrefOf(idpId)}/remove">${TEXTS.remove}<span class="sr"> ${name}</span></a></td></tr>\n`,
  );
  const columns = [TEXTS.name, TEXTS.type, TEXTS.state, TEXTS.aliases, TEXTS.action];
  return html`<section class="card flush">${table(TEXTS.title, columns, rows, 'whole-words')}</section>`;
}

/** The texts of a type that is no product, such as OpenID Connect. */
function otherOf(type: IdpType): { choice: string; addTitle: string } | undefined {
  return type === 'oidc' || type === 'oauth' ? TEXTS.others[type] : undefined;
}

/** Without a type, the types to choose from. */
async function showNew(deps: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { consoleUrl, show } = deps;
  const owner = await ownerOf(deps, req, res);
  const above = { href: consoleUrl(owner.path), text: TEXTS.titleOf(owner.name) };
  const { kept } = sessionOf(res);
  const type = typeOf(parameter(req, 'type') || text(req.body, 'type') || kept.type || '');
  if (type === undefined) {
    const links = IDP_TYPES.map(
      (one) =>
        html`<a class="button quiet" href="${consoleUrl(`${owner.path}/new${queryOf({ type: one, alias: parameter(req, 'alias') })}`)}">${otherOf(one)?.choice ?? TEXTS.types[one]}</a>\n`,
    );
    const body = html`${headline(TEXTS.add, above)}<section class="card"><p>${TEXTS.choose}</p><div class="buttons">${links}</div></section>`;
    return show(req, res, { title: TEXTS.add, body });
  }
  const title = otherOf(type)?.addTitle ?? TEXTS.addTitle(TEXTS.types[type]);
  const body = formPage({
    title,
    above,
    problem: refusal?.message,
    action: consoleUrl(`${owner.path}/new?type=${type}`),
    content: providerFields({ type, values: typed(req, res, valuesOfPreset(type, parameter(req, 'alias'))), refusal }),
    button: TEXTS.add,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

function typeOf(given: string): IdpType | undefined {
  return IDP_TYPES.find((type) => type === given);
}

async function add(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const owner = await ownerOf(deps, req, res);
  const type = typeOf(parameter(req, 'type'));
  if (type === undefined) return showNew(deps, req, res);
  const { api } = sessionOf(res);
  const sent = settingsOf(req, type);
  // The same as of the preset: those that another provider has are left out.
  const aliases = isPreset(type, sent.aliases) ? undefined : sent.aliases;
  const body = { ...sent, type, clientId: sent.clientId ?? '', aliases };
  try {
    const { idpId } = await (owner.orgId === undefined
      ? api.call('addInstanceIdp', { body })
      : api.call('addIdp', { body, org: owner.orgId }));
    res.redirect(303, deps.consoleUrl(`${onePath(owner, idpId)}?done=added`));
  } catch (error) {
    await showNew(deps, req, res, refusalOf(error, providerFieldNames(type)));
  }
}

function isPreset(type: IdpType, aliases: readonly string[] = []): boolean {
  return aliases.join('\n') === PRESETS[type].aliases.join('\n');
}

function onePath({ path }: Owner, idpId: string): string {
  return `${path}/${encodeURIComponent(idpId)}`;
}

/** @throws ApiError 404 for one of another owner */
async function providerOf(owner: Owner, req: Request, res: Response): Promise<Provider> {
  const { api } = sessionOf(res);
  const params = { idpId: String(req.params.idpId) };
  const { idp } = await (owner.orgId === undefined ? api.call('getInstanceIdp', params) : api.call('getIdp', params));
  if (owner.orgId === undefined || idp.details.resourceOwner === owner.orgId) return idp;
  throw new ApiError('NOT_FOUND', 'IDP-NOT-FOUND', 'The identity provider does not exist.');
}

async function showOne(deps: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { consoleUrl, show } = deps;
  const owner = await ownerOf(deps, req, res);
  const idp = await providerOf(owner, req, res);
  const path = consoleUrl(onePath(owner, idp.idpId));
  const body = html`${headline(
    idp.name,
    { href: consoleUrl(owner.path), text: TEXTS.titleOf(owner.name) },
    html`<a class="button quiet" href="${path}/check">${TEXTS.check}</a>
<a class="button danger" href="${path}/remove">${TEXTS.remove}</a>`,
  )}
${notice(ownValue(TEXTS.done, saidOnce(res)))}${notice(refusal?.message, 'bad')}
<section class="card"><h2>${TEXTS.redirectUri}</h2><p>${TEXTS.redirectHint}</p>
<copy-text said="${TEXTS.copied}"><p><code class="shown">${idp.redirectUri}</code></p>
<p><button type="button" class="quiet small" hidden>${TEXTS.copy}<span class="sr"> ${TEXTS.redirectUri}</span></button></p></copy-text>
${facts([
  [TEXTS.id, html`<code>${idp.idpId}</code>`],
  [TEXTS.type, TEXTS.types[idp.type]],
  [TEXTS.state, state(idp.isEnabled ? TEXTS.on : TEXTS.off)],
])}</section>
<form class="card confirm" method="post" action="${path}"><h2>${TEXTS.settings}</h2>
${providerFields({ type: idp.type, values: typed(req, res, valuesOf(idp)), refusal, idp })}
<div class="buttons"><button type="submit">${TEXTS.save}</button></div></form>`;
  show(req, res, { title: idp.name, status: refusal?.status ?? 200, body, scripts: ONCE_SCRIPTS });
}

async function save(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const owner = await ownerOf(deps, req, res);
  const { idpId, type } = await providerOf(owner, req, res);
  const { api } = sessionOf(res);
  const body = { ...settingsOf(req, type), isEnabled: text(req.body, 'isEnabled') !== '' };
  try {
    await (owner.orgId === undefined
      ? api.call('changeInstanceIdp', { idpId }, { body })
      : api.call('changeIdp', { idpId }, { body }));
    res.redirect(303, deps.consoleUrl(`${onePath(owner, idpId)}?done=saved`));
  } catch (error) {
    await showOne(deps, req, res, refusalOf(error, providerFieldNames(type)));
  }
}

/** What the provider answers, as far as it does so without a user. */
async function showCheck(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { consoleUrl, show } = deps;
  const owner = await ownerOf(deps, req, res);
  const { idpId, name } = await providerOf(owner, req, res);
  const { api } = sessionOf(res);
  const { checks } = await (owner.orgId === undefined
    ? api.call('checkInstanceIdp', { idpId })
    : api.call('checkIdp', { idpId }));
  const title = TEXTS.checkTitle(name);
  const findings = checks.map(
    (check) => html`<li>${state(check.ok ? FINDING_STATES.ok : FINDING_STATES.problem)}
<div><strong>${check.name}</strong>: ${check.message}</div></li>\n`,
  );
  const body = html`${headline(title, { href: consoleUrl(onePath(owner, idpId)), text: name })}
<section class="card"><p>${TEXTS.checkAbout}</p><ul class="plain findings">${findings}</ul></section>`;
  show(req, res, { title, body });
}

async function showRemoval(deps: ScreenDeps, req: Request, res: Response, refusal?: Refusal): Promise<void> {
  const { consoleUrl, show } = deps;
  const owner = await ownerOf(deps, req, res);
  const { idpId, name } = await providerOf(owner, req, res);
  const title = TEXTS.removeTitle(name);
  const body = formPage({
    title,
    above: { href: consoleUrl(onePath(owner, idpId)), text: name },
    problem: refusal?.message,
    action: consoleUrl(`${onePath(owner, idpId)}/remove`),
    content: list(TEXTS.removeEffects),
    button: TEXTS.remove,
    back: TEXTS.back,
  });
  show(req, res, { title, status: refusal?.status ?? 200, body });
}

async function remove(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const owner = await ownerOf(deps, req, res);
  const { idpId } = await providerOf(owner, req, res);
  const { api } = sessionOf(res);
  try {
    await (owner.orgId === undefined ? api.call('removeInstanceIdp', { idpId }) : api.call('removeIdp', { idpId }));
    res.redirect(303, deps.consoleUrl(`${owner.path}?done=removed`));
  } catch (error) {
    await showRemoval(deps, req, res, refusalOf(error));
  }
}

/** What was sent, what the person typed before their session ended, or else these values. */
function typed(req: Request, res: Response, values: Values): Values {
  const { kept } = sessionOf(res);
  const sent = [req.body as Values | undefined, kept].find((one) => one?.clientId !== undefined);
  if (sent === undefined) return values;
  // A box that is not checked is not sent.
  const names = [...Object.keys(values), ...Object.keys(sent)];
  return Object.fromEntries(names.map((name) => [name, text(sent, name)]));
}

/** @param alias a name that the import brings */
function valuesOfPreset(type: IdpType, alias: string): Values {
  const { name, issuer, scopes, aliases, subject } = PRESETS[type];
  const all =
    alias === '' || aliases.some((one) => one.toLowerCase() === alias.toLowerCase()) ? aliases : [...aliases, alias];
  const shown = type === 'oidc' || type === 'oauth' ? alias : name;
  return {
    name: shown,
    issuer: issuer ?? '',
    scopes: scopes.join(' '),
    aliases: all.join('\n'),
    subject,
    linking: 'policy',
  };
}

function valuesOf(idp: Provider): Values {
  const { endpoints, apple, linking = 'policy', trustsAddresses, isEnabled } = idp;
  return {
    ...{ name: idp.name, clientId: idp.clientId, issuer: idp.issuer ?? '', subject: idp.subject, linking },
    ...{ teamId: apple?.teamId ?? '', keyId: apple?.keyId ?? '', scopes: idp.scopes.join(' ') },
    authorization: endpoints?.authorization ?? '',
    token: endpoints?.token ?? '',
    userInfo: endpoints?.userInfo ?? '',
    emails: endpoints?.emails ?? '',
    aliases: idp.aliases.join('\n'),
    callbackPaths: idp.callbackPaths.join('\n'),
    domains: idp.domains.join('\n'),
    tenants: idp.tenants.join('\n'),
    createDomains: idp.createDomains.join('\n'),
    trustsAddresses: trustsAddresses ? '1' : '',
    isEnabled: isEnabled ? '1' : '',
  };
}

/** The form as the API takes it: what the form of the type has, and secrets only if they were typed. */
function settingsOf(req: Request, type: IdpType): Sent<'changeIdp'> {
  const typedText = (name: string) => text(req.body, name).trim();
  const words = (name: string) => typedText(name).split(/\s+/).filter(Boolean);
  const lines = (name: string) =>
    typedText(name)
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
  const given = (name: string) => typedText(name) || undefined;
  const urls = {
    authorization: typedText('authorization'),
    token: typedText('token'),
    userInfo: typedText('userInfo'),
  };
  return {
    name: given('name'),
    clientId: typedText('clientId'),
    clientSecret: given('clientSecret'),
    subject: given('subject'),
    scopes: words('scopes'),
    aliases: lines('aliases'),
    callbackPaths: lines('callbackPaths'),
    domains: lines('domains'),
    createDomains: lines('createDomains'),
    trustsAddresses: type === 'microsoft' ? undefined : typedText('trustsAddresses') !== '',
    linking: (given('linking') ?? 'policy') as NonNullable<Sent<'changeIdp'>['linking']>,
    ...(OAUTH_TYPES.has(type) ? {} : { issuer: given('issuer') }),
    ...(type === 'oauth' ? { endpoints: { ...urls, emails: given('emails') } } : {}),
    ...(type === 'microsoft' ? { tenants: lines('tenants') } : {}),
    ...(type === 'apple'
      ? { privateKey: given('privateKey'), apple: { teamId: typedText('teamId'), keyId: typedText('keyId') } }
      : {}),
  };
}
