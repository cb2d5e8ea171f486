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
import { type Html, html } from '../../platform/html/html.ts';
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
  title: 'Connected accounts',
  isDoor: true,
  needsRecent: true,
  show,
  steps: { connect, remove },
  said: { connected: 'The account is connected.', removed: 'The account is no longer connected.' },
  problems: {
    'IDP-LINK-LAST-WAY': {
      message: 'This is the only way in which you can sign in. Choose a password or connect another account first.',
      fields: [],
    },
    'IDP-LINK-NOT-FOUND': { message: 'This account is no longer connected.', fields: [] },
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
  return html`<p>With a connected account you sign in without a password.</p>
${links.length === 0 ? html`<p>No account is connected.</p>` : html`<ul class="rows">${links.map((link) => rowOf(visit, link))}</ul>`}
${
  idps.length === 0
    ? undefined
    : html`${opening(visit, LINKS.path, { step: 'connect' })}<div class="buttons">
${idps.map(({ id, name }) => html`<button type="submit" name="idpId" value="${id}" class="quiet provider"><span class="initial" aria-hidden="true">${initialOf(name)}</span> <span>Connect ${name}</span></button>\n`)}</div>
</form>`
}`;
}

function rowOf(visit: Visit, { idpId, userId, userName, provider, isHeldTwice }: KnownLink): Html {
  const name = provider?.name ?? idpId;
  const shown = userName === '' ? userId : userName;
  const state = isHeldTwice
    ? 'Somebody else has connected this account too, so it signs in nobody.'
    : provider
      ? undefined
      : 'It cannot be used to sign in.';
  return html`<li>
<p><strong>${name}</strong><br>${shown}</p>
${state && html`<p class="small">${state}</p>`}
${buttonForm(visit, LINKS.path, { step: 'remove', idpId, userId }, { label: 'Remove', about: `${name} ${shown}` })}
</li>
`;
}

const GONE: Problem = { message: 'That took too long, or was already used. Please try again.', fields: [] };

async function connect({ deps, req, res, person: { user } }: Visit): Promise<undefined> {
  const found = await idpsFor(deps.pool, user.orgId);
  const idp = found.find(({ id }) => id === text(req.body, 'idpId'));
  if (!idp) throw new FormProblem(GONE);
  const trip = { idp, purpose: 'link', orgId: user.orgId, userId: user.id, ask: {} } as const;
  try {
    res.redirect(303, (await beginTrip(deps, req, res, trip)).href);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw new FormProblem(unconfirmed(idp, error.reason));
  }
}

function unconfirmed({ name }: Idp, reason: ProviderError['reason']): Problem {
  const message =
    reason === 'unavailable'
      ? `We cannot reach ${name} right now. Please try again in a few minutes.`
      : `${name} did not confirm who you are. Please try again.`;
  return { message, fields: [] };
}

/** Where a visit at the provider leads back to. */
export async function comeBack(deps: AccountDeps, req: Request, res: Response): Promise<void> {
  const person = await personOf(deps, req, res);
  if (!person || person.ageS > RECENT_S + TRIP_MS / 1000) return askToSignIn(deps, res, LINKS.path, true);
  const visit = { deps, req, res, person };
  const url = accountUrl(deps.config, LINKS.path);
  const { user } = person;
  const result = await takeResult(deps, req, { tripId: String(req.params.tripId), userId: user.id });
  if (!result) return showSection(visit, LINKS, GONE);
  const { idp, identity, error } = result;
  if (error === 'cancelled') return res.redirect(303, url);
  if (!identity) return showSection(visit, LINKS, unconfirmed(idp, error));
  if (await linkOwn(deps, user.id, { idp, identity })) return res.redirect(303, `${url}?done=connected`);
  const message = `This ${idp.name} account cannot be connected: somebody else in your organization has it, or ${idp.name} may not sign you in.`;
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
