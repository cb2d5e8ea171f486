/**
 * The accounts at external providers that sign a person in here: connects one and removes one.
 *
 * Guarantee: an account is connected only to the user who was sent to the provider, by the provider's answer in this
 * browser. The last way in cannot be removed.
 */
import type { Request, Response } from 'express';
import { type KnownLink, linksOf, removeLink } from '../../directory/idp-links.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { type Problem, text } from '../../platform/html/forms.ts';
import { say } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { RECENT_S } from '../login/owner-proof.ts';
import { initialOf } from '../pages/forms.ts';
import { providerTargets } from '../pages/interaction.ts';
import { ProviderError } from '../providers/protocol.ts';
import { beginTrip, TRIP_MS, takeResult } from '../providers/round-trip.ts';
import { linkOwn } from '../providers/sign-in.ts';
import { type Idp, idpsFor } from '../providers/store.ts';
import { type AccountDeps, accountUrl, askToSignIn, personOf } from './person.ts';
import {
  buttonForm,
  type Content,
  FormProblem,
  opening,
  type Section,
  showSection,
  stillThere,
  type Visit,
} from './section.ts';

export const LINKS: Section = {
  path: 'links',
  title: 'account.links',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { connect, remove },
  said: { connected: 'account.linkConnected', removed: 'account.linkRemoved' },
  problems: {
    'IDP-LINK-LAST-WAY': { message: 'account.linkIsLastWay', fields: [] },
    'IDP-LINK-NOT-FOUND': { message: 'account.linkGone', fields: [] },
  },
};

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const idps = await idpsFor(deps.pool, person.user.orgId);
  const links = await linksOf(deps.pool, person.user.id);
  const formTargets = [...new Set(idps.flatMap(providerTargets))];
  return { body: bodyOf(visit, links, idps), options: { formTargets } };
}

/** @param idps that can be connected */
function bodyOf(visit: Visit, links: readonly KnownLink[], idps: readonly Pick<Idp, 'id' | 'name'>[]): Html {
  return html`<p>${say('account.linksWhat')}</p>
${links.length === 0 ? html`<p>${say('account.noLinks')}</p>` : html`<ul class="rows">${links.map((link) => rowOf(visit, link))}</ul>`}
${
  idps.length === 0
    ? undefined
    : html`${opening(visit, LINKS.path, { step: 'connect' })}<div class="buttons">
${idps.map(({ id, name }) => html`<button type="submit" name="idpId" value="${id}" class="quiet provider"><span class="initial" aria-hidden="true">${initialOf(name)}</span> <span>${say('account.connect', { provider: name })}</span></button>\n`)}</div>
</form>`
}`;
}

function rowOf(visit: Visit, { idpId, userId, userName, provider, isHeldTwice }: KnownLink): Html {
  const name = provider?.name ?? idpId;
  const shown = userName === '' ? userId : userName;
  const state = isHeldTwice ? say('account.linkHeldTwice') : provider ? undefined : say('account.linkUseless');
  return html`<li>
<p><strong>${name}</strong><br>${shown}</p>
${state && html`<p class="small">${state}</p>`}
${buttonForm(visit, LINKS.path, { step: 'remove', idpId, userId }, { label: say('common.remove'), about: `${name} ${shown}` })}
</li>
`;
}

const tooLate = (): Problem => ({ message: say('account.linkTooLate'), fields: [] });

async function connect({ deps, req, res, person: { user } }: Visit): Promise<undefined> {
  const found = await idpsFor(deps.pool, user.orgId);
  const idp = found.find(({ id }) => id === text(req.body, 'idpId'));
  if (!idp) throw new FormProblem(tooLate());
  const trip = { idp, purpose: 'link', orgId: user.orgId, userId: user.id, ask: {} } as const;
  try {
    res.redirect(303, (await beginTrip(deps, req, res, trip)).href);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw new FormProblem(unconfirmed(idp, error.reason));
  }
}

function unconfirmed({ name }: Idp, reason: ProviderError['reason']): Problem {
  const message = reason === 'unavailable' ? 'account.providerUnavailable' : 'account.providerRefused';
  return { message: say(message, { provider: name }), fields: [] };
}

/** Where a visit at the provider leads back to. */
export async function comeBack(deps: AccountDeps, req: Request, res: Response): Promise<void> {
  const person = await personOf(deps, req, res);
  if (!person || person.ageS > RECENT_S + TRIP_MS / 1000) return askToSignIn(deps, res, LINKS.path, true);
  const visit = { deps, req, res, person };
  const url = accountUrl(deps.config, LINKS.path);
  const { user } = person;
  const result = await takeResult(deps, req, { tripId: String(req.params.tripId), userId: user.id });
  if (!result) return showSection(visit, LINKS, tooLate());
  const { idp, identity, error } = result;
  if (error === 'cancelled') return res.redirect(303, url);
  if (!identity) return showSection(visit, LINKS, unconfirmed(idp, error));
  if (await linkOwn(deps, user.id, { idp, identity })) return res.redirect(303, `${url}?done=connected`);
  const message = say('account.linkImpossible', { provider: idp.name });
  await showSection(visit, LINKS, { message, fields: [] });
}

async function remove({ deps, req, person }: Visit): Promise<string> {
  const link = { idpId: text(req.body, 'idpId'), userId: text(req.body, 'userId') };
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await removeLink(db, user, link, user.id, deps.config);
  });
  return 'removed';
}
