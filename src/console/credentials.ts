import { type Request, type Response, Router } from 'express';
import { permissionDenied } from '../contract/permissions.ts';
import { text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/html/layout.ts';
import type { ScreenDeps } from './deps.ts';
import { visitOf } from './session.ts';
import { apiPath, nameOf2 as nameOf, type User, type UserAnswer, userPath } from './shapes.ts';
import { headline, notice, selectField, time } from './shell/blocks.ts';
import { type Refusal, refusalOf } from './shell/errors.ts';
import { ONCE_SCRIPTS, onceBody } from './shell/once.ts';
import type { At } from './shell/show.ts';
import { KEYS, TOKENS } from './texts/credentials.ts';
import { ONCE } from './texts/frame.ts';
/** The credentials of a machine user that the console lists, adds and removes. */

export interface Credential {
  id: string;
  expirationDate?: string;
  details: { creationDate: string };
}

/** What the API answers about one, whose id has a name of its own. */
export type Answered = Omit<Credential, 'id'> & { tokenId?: string; keyId?: string };

export interface Kind {
  /** The last part of the page's address. */
  name: 'tokens' | 'keys';
  /** The last part of the API's address. */
  api: 'pats' | 'keys';
  texts: typeof TOKENS;
  /** The secret, which is shown once, as a program reads it. */
  secretOf(made: Record<string, string>): string;
}

export const KINDS: readonly Kind[] = [
  { name: 'tokens', api: 'pats', texts: TOKENS, secretOf: ({ token = '' }) => token },
  // The key file is JSON, which the API answers as base64.
  { name: 'keys', api: 'keys', texts: KEYS, secretOf: ({ keyDetails = '' }) => fileOf(keyDetails) },
];

function fileOf(base64: string): string {
  return JSON.stringify(JSON.parse(Buffer.from(base64, 'base64').toString()), null, 2);
}

export function toCredential({ tokenId, keyId, ...rest }: Answered): Credential {
  return { id: tokenId ?? keyId ?? '', ...rest };
}

export function credentialsPath({ name }: Kind, userId: string): string {
  return `${userPath(userId)}/${name}`;
}

/** The page of a machine user's tokens, and that of their keys. */

/** In days. */
export const LIFETIMES = ['30', '90', '365', ''] as const;

export interface ListPage {
  kind: Kind;
  user: User;
  credentials: readonly Credential[];
  /** The lifetime that is chosen already. */
  days: string;
}

export function listBody(at: At, { kind, user, credentials, days }: ListPage, refusal?: Refusal): Html {
  const { texts } = kind;
  const page = at(credentialsPath(kind, user.userId));
  const lifetimes = LIFETIMES.map((days): [string, string] => [days, days ? texts.days(days) : texts.forever]);
  const effects = [...texts.effects(nameOf(user)), texts.onceHint];
  return html`${headline(texts.title, { href: at(userPath(user.userId)), text: nameOf(user) })}
${notice(refusal?.message, 'bad')}
<section class="card flush">${credentials.length === 0 ? html`<p class="inset soft">${texts.none}</p>` : table(page, kind, credentials)}</section>
<section class="card confirm"><h2>${texts.add}</h2>
<form method="post" action="${page}"><ul>${effects.map((effect) => html`<li>${effect}</li>`)}</ul>
<div class="field">${selectField(texts.lifetime, 'days', lifetimes, days)}</div>
<div class="buttons"><button type="submit">${texts.add}</button></div></form></section>`;
}

function table(page: string, { texts }: Kind, credentials: readonly Credential[]): Html {
  return html`<table class="stack"><caption class="sr">${texts.title}</caption>
<thead><tr><th scope="col">${texts.id}</th><th scope="col">${texts.created}</th><th scope="col">${texts.ends}</th><th scope="col">${texts.action}</th></tr></thead>
<tbody>${credentials.map(
    ({ id, expirationDate, details }) => html`<tr><th scope="row"><code>${id}</code></th>
<td data-label="${texts.created}">${time(details.creationDate)}</td>
<td data-label="${texts.ends}">${time(expirationDate) ?? texts.never}</td>
<td data-label="${texts.action}"><a href="${page}/${encodeURIComponent(id)}/remove">${texts.remove}<span class="sr"> ${id}</span></a></td></tr>\n`,
  )}</tbody></table>`;
}

export function removeBody(at: At, kind: Kind, user: User, id: string, refusal?: Refusal): Html {
  const { texts } = kind;
  const page = at(credentialsPath(kind, user.userId));
  return html`${headline(texts.removeTitle, { href: page, text: texts.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${page}/${encodeURIComponent(id)}/remove">
<p><code>${id}</code></p><ul><li>${texts.removeEffect(nameOf(user))}</li></ul>
<div class="buttons"><button class="danger" type="submit">${texts.remove}</button><a class="button quiet" href="${page}">${texts.back}</a></div></form>`;
}

/** The screens of a machine user's tokens and keys. A secret is shown once, in the answer to the form. */

const DAY_MS = 86_400_000;

interface Call extends ScreenDeps {
  kind: Kind;
  req: Request;
  res: Response;
}

export function credentialScreens(deps: ScreenDeps): Router {
  const router = Router();
  for (const kind of KINDS) {
    const all = `/console/users/:userId/${kind.name}`;
    const one = `${all}/:credentialId/remove`;
    router.get(all, (req, res) => list({ ...deps, kind, req, res }));
    router.post(all, (req, res) => add({ ...deps, kind, req, res }));
    router.get(one, (req, res) => showRemoval({ ...deps, kind, req, res }));
    router.post(one, (req, res) => remove({ ...deps, kind, req, res }));
  }
  return router;
}

interface Found {
  user: User;
  credentials: Credential[];
  /** In the API. */
  path: string;
}

/** The machine user. @throws ApiError 403 as the API answers; also for a person, who has neither tokens nor keys */
async function read({ kind, req, res }: Call): Promise<Found> {
  const { api } = visitOf(res);
  const userId = String(req.params.userId);
  const path = `/management/v1/users/${encodeURIComponent(userId)}/${kind.api}`;
  const { user } = await api.get<UserAnswer>(apiPath(userId));
  if (!user.machine) throw permissionDenied();
  const { result } = await api.get<{ result: Answered[] }>(path);
  return { user, credentials: result.map(toCredential), path };
}

async function list(call: Call, refusal?: Refusal): Promise<void> {
  const { at, show, kind, req, res } = call;
  const { user, credentials } = await read(call);
  const days = text(req.body, 'days') || (visitOf(res).kept.days ?? '90');
  const body = listBody(at, { kind, user, credentials, days }, refusal);
  show(req, res, { title: kind.texts.title, status: refusal?.status ?? 200, body });
}

async function add(call: Call): Promise<void> {
  const { at, show, kind, req, res } = call;
  const { user, path } = await read(call);
  const days = Number(LIFETIMES.find((one) => one === text(req.body, 'days')) ?? LIFETIMES[0]);
  const expirationDate = new Date(Date.now() + days * DAY_MS).toISOString();
  try {
    const made = await visitOf(res).api.send<Record<string, string>>(path, days > 0 ? { expirationDate } : {});
    const back = { href: at(credentialsPath(kind, user.userId)), text: kind.texts.title };
    const values: [string, string][] = [
      [kind.texts.secret, kind.secretOf(made)],
      [kind.texts.id, made.tokenId ?? made.keyId ?? ''],
    ];
    show(req, res, { title: ONCE.title, body: onceBody(ONCE.title, values, back), scripts: ONCE_SCRIPTS });
  } catch (error) {
    await list(call, refusalOf(error));
  }
}

async function showRemoval(call: Call, refusal?: Refusal): Promise<void> {
  const { at, show, kind, req, res } = call;
  const { user } = await read(call);
  const body = removeBody(at, kind, user, String(req.params.credentialId), refusal);
  show(req, res, { title: kind.texts.removeTitle, status: refusal?.status ?? 200, body });
}

async function remove(call: Call): Promise<void> {
  const { at, kind, req, res } = call;
  const { user, path } = await read(call);
  try {
    const one = `${path}/${encodeURIComponent(String(req.params.credentialId))}`;
    await visitOf(res).api.send(one, {}, { method: 'DELETE' });
  } catch (error) {
    return showRemoval(call, refusalOf(error));
  }
  res.redirect(303, at(credentialsPath(kind, user.userId)));
}
