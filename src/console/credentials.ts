/** The screens of a machine user's tokens and keys. A secret is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import type { Answer, Sent } from '../contract/client.ts';
import { permissionDenied } from '../contract/permissions.ts';
import { text } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import type { Api } from './api.ts';
import type { ScreenDeps } from './deps.ts';
import { sessionOf } from './session.ts';
import { nameOfUser, type User, userPath } from './shapes.ts';
import { type Choice, formPage, headline, list, notice, selectField, table, time } from './shell/blocks.ts';
import { type Refusal, refusalOf } from './shell/errors.ts';
import { ONCE_SCRIPTS, secretShownOnce } from './shell/once.ts';
import type { ConsoleUrl } from './shell/show.ts';
import { KEYS, TOKENS } from './texts/credentials.ts';
import { ONCE } from './texts/frame.ts';

/** A kind of credentials. */
interface Kind {
  /** The last part of the page's address. */
  name: 'tokens' | 'keys';
  texts: typeof TOKENS;
  list(api: Api, userId: string): Promise<Credential[]>;
  /** The secret, which is shown once, as a program reads it. */
  add(api: Api, userId: string, body: Lifetime): Promise<{ id: string; secret: string }>;
  remove(api: Api, userId: string, id: string): Promise<unknown>;
}

type Lifetime = Sent<'addPat'> & Sent<'addKey'>;

const KINDS: readonly Kind[] = [
  {
    name: 'tokens',
    texts: TOKENS,
    async list(api, userId) {
      const { result } = await api.call('listPats', { userId });
      return result.map((token) => ({ id: token.tokenId, ...token }));
    },
    async add(api, userId, body) {
      const { tokenId, token } = await api.call('addPat', { userId }, { body });
      return { id: tokenId, secret: token };
    },
    remove: (api, userId, tokenId) => api.call('removePat', { userId, tokenId }),
  },
  {
    name: 'keys',
    texts: KEYS,
    async list(api, userId) {
      const { result } = await api.call('listKeys', { userId });
      return result.map((key) => ({ id: key.keyId, ...key }));
    },
    async add(api, userId, body) {
      const { keyId, keyDetails } = await api.call('addKey', { userId }, { body });
      return { id: keyId, secret: fileOf(keyDetails) };
    },
    remove: (api, userId, keyId) => api.call('removeKey', { userId, keyId }),
  },
];

/** In days. */
const LIFETIMES = ['30', '90', '365', ''] as const;

const DAY_MS = 86_400_000;

/** A request about the credentials of one kind. */
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
    router.get(all, (req, res) => showAll({ ...deps, kind, req, res }));
    router.post(all, (req, res) => add({ ...deps, kind, req, res }));
    router.get(one, (req, res) => showRemoval({ ...deps, kind, req, res }));
    router.post(one, (req, res) => remove({ ...deps, kind, req, res }));
  }
  return router;
}

interface Found {
  user: User;
  credentials: Credential[];
}

/** The machine user. @throws ApiError 403 as the API answers; also for a person, who has neither tokens nor keys */
async function read({ kind, req, res }: Call): Promise<Found> {
  const { api } = sessionOf(res);
  const { user } = await api.call('getUser', { userId: String(req.params.userId) });
  if (!user.machine) throw permissionDenied();
  return { user, credentials: await kind.list(api, user.userId) };
}

async function showAll(call: Call, refusal?: Refusal): Promise<void> {
  const { consoleUrl, show, kind, req, res } = call;
  const { user, credentials } = await read(call);
  const days = text(req.body, 'days') || (sessionOf(res).kept.days ?? '90');
  const body = listBody(consoleUrl, { kind, user, credentials, days }, refusal);
  show(req, res, { title: kind.texts.title, status: refusal?.status ?? 200, body });
}

async function add(call: Call): Promise<void> {
  const { consoleUrl, show, kind, req, res } = call;
  const { user } = await read(call);
  const days = Number(LIFETIMES.find((one) => one === text(req.body, 'days')) ?? LIFETIMES[0]);
  const expirationDate = new Date(Date.now() + days * DAY_MS).toISOString();
  try {
    const made = await kind.add(sessionOf(res).api, user.userId, days > 0 ? { expirationDate } : {});
    const back = { href: consoleUrl(credentialsPath(kind, user.userId)), text: kind.texts.title };
    const values: [string, string][] = [
      [kind.texts.secret, made.secret],
      [kind.texts.id, made.id],
    ];
    show(req, res, { title: ONCE.title, body: secretShownOnce(ONCE.title, values, back), scripts: ONCE_SCRIPTS });
  } catch (error) {
    await showAll(call, refusalOf(error));
  }
}

async function showRemoval(call: Call, refusal?: Refusal): Promise<void> {
  const { consoleUrl, show, kind, req, res } = call;
  const { user } = await read(call);
  const { texts } = kind;
  const id = String(req.params.credentialId);
  const page = consoleUrl(credentialsPath(kind, user.userId));
  const body = formPage({
    title: texts.removeTitle,
    above: { href: page, text: texts.title },
    problem: refusal?.message,
    action: `${page}/${encodeURIComponent(id)}/remove`,
    content: html`<p><code>${id}</code></p>${list([texts.removeEffect(nameOfUser(user))])}`,
    button: texts.remove,
    back: texts.back,
  });
  show(req, res, { title: texts.removeTitle, status: refusal?.status ?? 200, body });
}

async function remove(call: Call): Promise<void> {
  const { consoleUrl, kind, req, res } = call;
  const { user } = await read(call);
  try {
    await kind.remove(sessionOf(res).api, user.userId, String(req.params.credentialId));
  } catch (error) {
    return showRemoval(call, refusalOf(error));
  }
  res.redirect(303, consoleUrl(credentialsPath(kind, user.userId)));
}

/** A token or a key: the id of each has a name of its own. */
type Credential = { id: string } & Omit<Answer<'listPats'>['result'][number], 'tokenId'>;

/** The key file is JSON, which the API answers as base64. */
function fileOf(base64: string): string {
  return JSON.stringify(JSON.parse(Buffer.from(base64, 'base64').toString()), null, 2);
}

function credentialsPath({ name }: Kind, userId: string): string {
  return `${userPath(userId)}/${name}`;
}

interface ListPage {
  kind: Kind;
  user: User;
  credentials: readonly Credential[];
  /** The lifetime that is chosen already. */
  days: string;
}

/** The page of a machine user's tokens or keys. */
function listBody(consoleUrl: ConsoleUrl, { kind, user, credentials, days }: ListPage, refusal?: Refusal): Html {
  const { texts } = kind;
  const page = consoleUrl(credentialsPath(kind, user.userId));
  const lifetimes = LIFETIMES.map((days): Choice => [days, days ? texts.days(days) : texts.forever]);
  const effects = [...texts.effects(nameOfUser(user)), texts.onceHint];
  return html`${headline(texts.title, { href: consoleUrl(userPath(user.userId)), text: nameOfUser(user) })}
${notice(refusal?.message, 'bad')}
<section class="card flush">${credentials.length === 0 ? html`<p class="inset soft">${texts.none}</p>` : credentialTable(page, kind, credentials)}</section>
<section class="card confirm"><h2>${texts.add}</h2>
<form method="post" action="${page}">${list(effects)}<div class="field">${selectField(texts.lifetime, 'days', lifetimes, days)}</div>
<div class="buttons"><button type="submit">${texts.add}</button></div></form></section>`;
}

function credentialTable(page: string, { texts }: Kind, credentials: readonly Credential[]): Html {
  const rows = credentials.map(
    ({ id, expirationDate, details }) => html`<tr><th scope="row"><code>${id}</code></th>
<td data-label="${texts.created}">${time(details.creationDate)}</td>
<td data-label="${texts.ends}">${time(expirationDate) ?? texts.never}</td>
<td data-label="${texts.action}"><a href="${page}/${encodeURIComponent(id)}/remove">${texts.remove}<span class="sr"> ${id}</span></a></td></tr>\n`,
  );
  return table(texts.title, [texts.id, texts.created, texts.ends, texts.action], rows);
}
