/** The page of one user. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { type Fact, facts, headline } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import { USER, USER_ACTIONS } from '../texts/user.ts';
import { USERS } from '../texts/users.ts';
import type { Action, Subject } from './actions.ts';
import { stateOf } from './list.ts';
import { nameOf, userPath } from './shapes.ts';

export interface OnePage extends Subject {
  actions: readonly Action[];
  metadataKeys: readonly string[];
  links: readonly { idpId: string; userId: string; userName: string }[];
  /** Whether the import that wrote the user can be opened. */
  showsImport: boolean;
  organization: Html;
  /** Whether the person may manage the tokens and keys of this machine user. */
  managesCredentials: boolean;
}

export function oneBody(at: At, page: OnePage): Html {
  const { user, actions } = page;
  const to = (name: string) => at(`${userPath(user.userId)}/${name}`);
  const buttons = actions.map(
    ({ name, isFinal }) =>
      html`<a class="button small ${isFinal ? 'danger' : 'quiet'}" href="${to(name)}">${USER_ACTIONS[name].button}</a>\n`,
  );
  const credentials = page.managesCredentials
    ? html`<a class="button small quiet" href="${to('tokens')}">${USER.tokens}</a>
<a class="button small quiet" href="${to('keys')}">${USER.keys}</a>`
    : undefined;
  return html`${headline(nameOf(user), { href: at('/users'), text: USERS.title })}
<p>${stateOf(user)} <span class="soft">${user.machine ? USER.machine : USER.human}</span></p>
${actions.length > 0 ? html`<div class="buttons act" role="group" aria-label="${USER.actions}">${credentials}${buttons}</div>` : undefined}
<div class="columns"><div>
<section class="card"><h2>${USER.account}</h2>${facts(account(at, page))}</section>
</div><div>
<section class="card"><h2>${USER.names}</h2><ul class="plain">${user.loginNames.map((name) => html`<li>${name}</li>\n`)}</ul></section>
<section class="card"><h2>${USER.links}</h2>${linksOf(page)}</section>
<section class="card"><h2>${USER.metadata}</h2>${keysOf(page)}</section>
</div></div>`;
}

function account(at: At, page: OnePage): Fact[] {
  const { user, details, background, organization } = page;
  const { human, machine } = user;
  const { profile } = human ?? {};
  return [
    [USER.id, html`<code>${user.userId}</code>`],
    [USER.userName, user.username],
    [USERS.organization, organization],
    [USER.givenName, profile?.givenName],
    [USER.familyName, profile?.familyName],
    [USER.nickName, profile?.nickName],
    [USER.language, profile?.preferredLanguage],
    [USER.description, machine?.description],
    [USERS.email, human?.email.email ? contact(human.email.email, human.email.isVerified) : undefined],
    [USER.phone, human?.phone && contact(human.phone.phone, human.phone.isVerified)],
    [USER.password, human && passwordOf(page)],
    [USER.lastLogin, background && (timeOf(background.lastLoginAt) ?? USER.never)],
    [USER.created, background && timeOf(background.createdAt)],
    [USERS.changed, time(details.changeDate)],
    [USER.import, importOf(at, page)],
  ];
}

function timeOf(at: Date | null): Html | undefined {
  return time(at?.toISOString());
}

function contact(value: string, isVerified: boolean): Html {
  return html`${value}<br><span class="state ${isVerified ? 'good' : 'warn'}">${isVerified ? USER.verified : USERS.unverified}</span>`;
}

function passwordOf({ user, background }: OnePage): string | undefined {
  if (user.human?.passwordChangeRequired) return USER.mustChange;
  return background && (background.hasPassword ? USER.hasPassword : USER.noPassword);
}

/** An import may belong to somebody else, or be deleted by now: then its number alone is shown. */
function importOf(at: At, { background, showsImport }: OnePage): Html | string {
  if (!background?.importId) return USER.notImported;
  const name = USER.importNumber(background.importId);
  return showsImport ? html`<a href="${at(`/imports/${background.importId}`)}">${name}</a>` : name;
}

function linksOf({ links }: OnePage): Html {
  if (links.length === 0) return html`<p class="soft">${USER.noLinks}</p>`;
  return html`<ul class="plain">${links.map(({ idpId, userId, userName }) => html`<li><strong>${idpId}</strong> <span class="soft">${userName || userId}</span></li>\n`)}</ul>`;
}

function keysOf({ metadataKeys }: OnePage): Html {
  if (metadataKeys.length === 0) return html`<p class="soft">${USER.noMetadata}</p>`;
  return html`<ul class="plain">${metadataKeys.map((key) => html`<li><code>${key}</code></li>\n`)}</ul>`;
}
