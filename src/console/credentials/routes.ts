/** The screens of a machine user's tokens and keys. A secret is shown once, in the answer to the form. */
import { type Request, type Response, Router } from 'express';
import { permissionDenied } from '../../access/caller.ts';
import { text } from '../../pages/fields.ts';
import type { ScreenDeps } from '../deps.ts';
import { ONCE_SCRIPTS, onceBody } from '../page/once.ts';
import { type Refusal, refusalOf } from '../page/refusal.ts';
import { ONCE } from '../texts/frame.ts';
import { apiPath, type User, type UserAnswer } from '../users/shapes.ts';
import { visitOf } from '../visit.ts';
import { LIFETIMES, listBody, removeBody } from './body.ts';
import { type Answered, type Credential, credentialsPath, KINDS, type Kind, toCredential } from './kinds.ts';

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
