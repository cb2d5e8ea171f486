/** The page of one organization, with its members, and the pages that change it. */
import { ORG_ROLES } from '../../access/permissions.ts';
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { facts, headline, notice, queryOf, selectField, textField } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { MEMBERS, ORGS } from '../texts/organizations.ts';
import { userPath } from '../users/shapes.ts';
import { type OrgView, orgPath } from './list.ts';

export interface Member {
  userId: string;
  roles: string[];
  details: { creationDate: string };
}

export interface OrgPage {
  org: OrgView;
  members: readonly Member[];
  /** Of all members, of which the page shows the first. */
  total: number;
  nameOf(userId: string): string;
  /** What was typed into the form for a new member. */
  values: Readonly<Record<string, string>>;
  refusal?: Refusal | undefined;
}

export function oneBody(at: At, page: OrgPage): Html {
  const { org } = page;
  const users = at(`/users${queryOf({ org: org.id })}`);
  const buttons = html`<a class="button quiet" href="${users}">${ORGS.users}</a>
<a class="button quiet" href="${at(`${orgPath(org.id)}/machines/new`)}">${ORGS.newMachine}</a>`;
  const about = facts([
    [ORGS.id, html`<code>${org.id}</code>`],
    [ORGS.domain, org.primaryDomain],
  ]);
  return html`${headline(org.name, { href: at('/organizations'), text: ORGS.title }, buttons)}
<section class="card">${about}<p class="soft small">${ORGS.domainMeaning(org.primaryDomain)}</p></section>
<section class="card flush"><h2 class="inset">${MEMBERS.title}</h2>${membersOf(at, page)}</section>
${addForm(at, page)}`;
}

function membersOf(at: At, { org, members, total, nameOf }: OrgPage): Html {
  if (members.length === 0) return html`<p class="inset soft">${MEMBERS.none}</p>`;
  const more =
    total > members.length ? html`<p class="inset soft">${MEMBERS.more(members.length, total)}</p>` : undefined;
  return html`<table class="stack"><caption class="sr">${MEMBERS.title}</caption>
<thead><tr><th scope="col">${MEMBERS.user}</th><th scope="col">${MEMBERS.roles}</th><th scope="col">${MEMBERS.since}</th><th scope="col">${MEMBERS.action}</th></tr></thead>
<tbody>${members.map(
    ({
      userId,
      roles,
      details,
    }) => html`<tr><th scope="row"><a href="${at(userPath(userId))}">${nameOf(userId)}</a></th>
<td data-label="${MEMBERS.roles}">${roles.map((role) => MEMBERS.names[role] ?? role).join(', ')}</td>
<td data-label="${MEMBERS.since}">${time(details.creationDate)}</td>
<td data-label="${MEMBERS.action}"><a href="${at(removePath(org.id, userId))}">${MEMBERS.remove}<span class="sr"> ${nameOf(userId)}</span></a></td></tr>\n`,
  )}</tbody></table>${more}`;
}

function addForm(at: At, { org, values, refusal }: OrgPage): Html {
  const roles = ORG_ROLES.map((role): [string, string] => [role, MEMBERS.names[role] ?? role]);
  return html`<section class="card confirm"><h2>${MEMBERS.add}</h2>${notice(refusal?.message, 'bad')}
<form method="post" action="${at(orgPath(org.id))}">
${textField({ name: 'userId', label: MEMBERS.userId, value: values.userId, hint: MEMBERS.userIdHint, isRequired: true, wrong: refusal?.wrong('userId') })}
<div class="field">${selectField(MEMBERS.role, 'role', roles, values.role ?? 'ORG_OWNER')}</div>
<ul>${ORG_ROLES.map((role) => html`<li>${MEMBERS.effects[role]}</li>\n`)}</ul>
<div class="buttons"><button type="submit">${MEMBERS.add}</button></div></form></section>`;
}

function removePath(orgId: string, userId: string): string {
  return `${orgPath(orgId)}/members/${encodeURIComponent(userId)}/remove`;
}

export interface Removal {
  org: OrgView;
  userId: string;
  name: string;
  isSelf: boolean;
}

export function removeBody(at: At, { org, userId, name, isSelf }: Removal, refusal?: Refusal): Html {
  const page = at(orgPath(org.id));
  return html`${headline(MEMBERS.removeTitle(name), { href: page, text: org.name })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at(removePath(org.id, userId))}">
<ul><li>${MEMBERS.removeEffect(org.name)}</li><li>${MEMBERS.removeStays}</li></ul>
${isSelf ? notice(MEMBERS.removeSelf, 'warn') : undefined}
<div class="buttons"><button class="danger" type="submit">${MEMBERS.remove}</button><a class="button quiet" href="${page}">${MEMBERS.back}</a></div></form>`;
}

export function machineBody(at: At, org: OrgView, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const field = (name: string, label: string, isRequired = false) =>
    textField({ name, label, value: values[name], isRequired, wrong: refusal?.wrong(name) });
  return html`${headline(ORGS.newMachine, { href: at(orgPath(org.id)), text: org.name })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at(`${orgPath(org.id)}/machines/new`)}">
<p>${ORGS.machineEffect}</p>
${field('userName', ORGS.userName, true)}${field('name', ORGS.name, true)}${field('description', ORGS.description)}
<div class="buttons"><button type="submit">${ORGS.newMachine}</button></div></form>`;
}
