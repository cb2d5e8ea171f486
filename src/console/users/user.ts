/**
 * The page of one user, and what a person may do to a user: when it is possible, what it will do, and the call of the
 * API that does it.
 *
 * Guarantee: an action that the API would refuse this person is neither shown nor reachable by its address.
 */

import type { Answer } from '../../contract/client.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Caller, covers, may } from '../../contract/permissions.ts';
import { field } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Api } from '../api.ts';
import type { UserFacts } from '../database.ts';
import { nameOfUser, type UserAnswer, userPath } from '../shapes.ts';
import { type Fact, facts, headline, list, notice, queryOf, state, time } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { USER, USER_ACTIONS, USER_CONFIRM, USER_EDIT } from '../texts/user.ts';
import { USERS } from '../texts/users.ts';
import { stateBadge } from './list.ts';

export interface OnePage extends Subject {
  actions: readonly Action[];
  metadataKeys: readonly string[];
  links: Answer<'getUserLinks'>['result'];
  /** Whether the person may remove links of this user. */
  removesLinks: boolean;
  /** Whether the person may change the fields of this user. */
  edits: boolean;
  /** Whether the import that wrote the user can be opened. */
  showsImport: boolean;
  organization: Html;
  /** Whether the person may manage the tokens and keys of this machine user. */
  managesCredentials: boolean;
}

/** The page of one user. */
export function oneBody(consoleUrl: ConsoleUrl, page: OnePage): Html {
  const { user, actions } = page;
  const to = (name: string) => consoleUrl(`${userPath(user.userId)}/${name}`);
  const buttons = actions.map(
    ({ name, isFinal }) =>
      html`<a class="button small ${isFinal ? 'danger' : 'quiet'}" href="${to(name)}">${USER_ACTIONS[name].button}</a>\n`,
  );
  const edit = page.edits
    ? html`<a class="button small quiet" href="${to('edit')}">${USER_EDIT.open}</a>\n`
    : undefined;
  const credentials = page.managesCredentials
    ? html`<a class="button small quiet" href="${to('tokens')}">${USER.tokens}</a>
<a class="button small quiet" href="${to('keys')}">${USER.keys}</a>`
    : undefined;
  return html`${headline(nameOfUser(user), { href: consoleUrl('/users'), text: USERS.title })}
<p>${stateBadge(user)} <span class="soft">${user.machine ? USER.machine : USER.human}</span></p>
${actions.length > 0 || page.edits ? html`<div class="buttons act" role="group" aria-label="${USER.actions}">${edit}${credentials}${buttons}</div>` : undefined}
<div class="columns"><div>
<section class="card"><h2>${USER.account}</h2>${facts(account(consoleUrl, page))}</section>
</div><div>
<section class="card"><h2>${USER.names}</h2>${list(loginNamesOf(user), 'plain')}</section>
<section class="card"><h2>${USER.links}</h2>${linksOf(consoleUrl, page)}</section>
<section class="card"><h2>${USER.metadata}</h2>${keysOf(page)}</section>
</div></div>`;
}

/** The name that people type, then those with the domain of the organization. */
function loginNamesOf({ username, loginNames }: UserAnswer['user']): (Html | string)[] {
  const others = loginNames.filter((name) => name !== username);
  return [username, ...others.map((name) => html`${name} <span class="soft small">${USER.fullName}</span>`)];
}

function account(consoleUrl: ConsoleUrl, page: OnePage): Fact[] {
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
    [USER.mailCodes, human?.withoutMailCodes && USER.leftOut],
    [USER.lastLogin, background && (timeOf(background.lastLoginAt) ?? USER.never)],
    [USER.created, background && timeOf(background.createdAt)],
    [USERS.changed, time(details.changeDate)],
    [USER.import, importOf(consoleUrl, page)],
  ];
}

function timeOf(consoleUrl: Date | null): Html | undefined {
  return time(consoleUrl?.toISOString());
}

function contact(value: string, isVerified: boolean): Html {
  return html`${value}<br>${state(isVerified ? { name: USER.verified, look: 'good' } : { name: USERS.unverified, look: 'warn' })}`;
}

function passwordOf({ user, background }: OnePage): string | undefined {
  if (user.human?.passwordChangeRequired) return USER.mustChange;
  if (background?.hasPassword && !background.knowsPassword) return USER.perhapsPassword;
  return background && (background.hasPassword ? USER.hasPassword : USER.noPassword);
}

/** An import may belong to somebody else, or be deleted by now: then its number alone is shown. */
function importOf(consoleUrl: ConsoleUrl, { background, showsImport }: OnePage): Html | string {
  if (!background?.importId) return USER.notImported;
  const name = USER.importNumber(background.importId);
  return showsImport ? html`<a href="${consoleUrl(`/imports/${background.importId}`)}">${name}</a>` : name;
}

function linksOf(consoleUrl: ConsoleUrl, { links, user, removesLinks }: OnePage): Html {
  if (links.length === 0) return html`<p class="soft">${USER.noLinks}</p>`;
  const remove = consoleUrl(`${userPath(user.userId)}/unlink`);
  const item = ({ idpId, userId, userName, provider, isHeldTwice }: Link) => {
    const use = isHeldTwice ? USER.heldTwice : provider ? undefined : USER.noProvider;
    const button = html`<a class="button small quiet" href="${`${remove}${queryOf({ idp: idpId, account: userId })}`}">${USER.removeLink}</a>`;
    return html`<strong>${provider?.name ?? idpId}</strong> <span class="soft">${userName || userId}</span>
${use && html`<br><span class="soft small">${use}</span>`} ${removesLinks ? button : undefined}`;
  };
  return list(links.map(item), 'plain');
}

export type Link = OnePage['links'][number];

function keysOf({ metadataKeys }: OnePage): Html {
  if (metadataKeys.length === 0) return html`<p class="soft">${USER.noMetadata}</p>`;
  return list(
    metadataKeys.map((key) => html`<code>${key}</code>`),
    'plain',
  );
}

export interface Confirmation {
  subject: Subject;
  action: Action;
  /** The person would do it to themselves. */
  isSelf: boolean;
  /** Why the action was refused. */
  problem?: string;
  /** What was typed as the user name. */
  typed?: string | undefined;
}

/** The page that says what an action on a user will do, with the form that does it. */
export function confirmBody(consoleUrl: ConsoleUrl, { subject, action, isSelf, problem, typed }: Confirmation): Html {
  const { user } = subject;
  const page = consoleUrl(userPath(user.userId));
  const texts = USER_ACTIONS[action.name];
  const isStop = ['lock', 'deactivate', 'delete'].includes(action.name);
  return html`${headline(texts.title(nameOfUser(user)), { href: page, text: nameOfUser(user) })}
${notice(problem, 'bad')}
<section class="card confirm">
<p><strong>${user.username}</strong></p>
${list(action.effects(subject))}
${isSelf && isStop ? notice(USER_CONFIRM.self, 'warn') : undefined}
<form method="post" action="${consoleUrl(`${userPath(user.userId)}/${action.name}`)}">
${action.isFinal && nameToType(user.username, typed)}
<div class="buttons"><button type="submit"${action.isFinal ? html` class="danger"` : undefined}>${texts.button}</button>
<a class="button quiet" href="${page}">${USER_CONFIRM.back}</a></div>
</form>
</section>`;
}

function nameToType(userName: string, typed: string | undefined): Html {
  const isWrong = typed !== undefined && typed !== '' && typed !== userName;
  return field({
    name: 'userName',
    label: USER_CONFIRM.type(userName),
    value: typed,
    wrong: isWrong ? USER_CONFIRM.wrong : undefined,
  });
}

/** Everything that a page about a user needs. */
export interface Subject extends UserAnswer, UserFacts {}

export type ActionName = keyof typeof USER_ACTIONS;

export interface Action {
  name: ActionName;
  operation: OperationId;
  /** Whether the state of the user allows it. */
  fits(subject: Subject): boolean;
  /** What it will do, in the order in which it matters. */
  effects(subject: Subject): readonly string[];
  run(api: Api, userId: string): Promise<unknown>;
  /** Removes something for good: the person types the user name first. */
  isFinal?: true;
}

const isIn =
  (...states: string[]) =>
  ({ user }: Subject) =>
    states.includes(user.state.replace('USER_STATE_', ''));

type Change = 'unlockUser' | 'reactivateUser' | 'resendEmailCode' | 'lockUser' | 'deactivateUser' | 'deleteUser';

/** An operation that needs nothing but the user. */
function calls(operation: Change): Pick<Action, 'operation' | 'run'> {
  return { operation, run: (api, userId) => api.call(operation, { userId }) };
}

/** In the order in which they are offered. An action that the API would refuse is neither shown nor reachable. */
export const ACTIONS: readonly Action[] = [
  {
    name: 'unlock',
    ...calls('unlockUser'),
    fits: isIn('LOCKED'),
    effects: ({ background }) => USER_ACTIONS.unlock.effects(background?.hasPassword ?? true),
  },
  {
    name: 'reactivate',
    ...calls('reactivateUser'),
    fits: isIn('INACTIVE'),
    effects: ({ background }) => USER_ACTIONS.reactivate.effects(background?.hasPassword ?? true),
  },
  {
    name: 'resend',
    ...calls('resendEmailCode'),
    fits: ({ user }) => !!user.human?.email.email && !user.human.email.isVerified,
    effects: (subject) => USER_ACTIONS.resend.effects(addressOf(subject), isIn('INITIAL')(subject)),
  },
  {
    name: 'reset',
    operation: 'resetPassword',
    fits: (subject) => !!addressOf(subject) && !isIn('INACTIVE')(subject),
    effects: (subject) => USER_ACTIONS.reset.effects(addressOf(subject), resetMail(subject)),
    run: (api, userId) => api.call('resetPassword', { userId }, { body: { sendLink: {} } }),
  },
  {
    name: 'reset-factors',
    operation: 'resetFactors',
    fits: ({ background }) => background?.hasFactors === true,
    effects: () => USER_ACTIONS['reset-factors'].effects(),
    run: (api, userId) => api.call('resetFactors', { userId }, { body: { endSessions: false } }),
  },
  {
    name: 'allow-codes',
    operation: 'setMailCodes',
    fits: ({ user }) => user.human?.withoutMailCodes === true,
    effects: () => USER_ACTIONS['allow-codes'].effects(),
    run: (api, userId) => api.call('setMailCodes', { userId }, { body: { allowed: true } }),
  },
  {
    name: 'lock',
    ...calls('lockUser'),
    fits: isIn('ACTIVE', 'INITIAL'),
    effects: () => USER_ACTIONS.lock.effects(),
  },
  {
    name: 'deactivate',
    ...calls('deactivateUser'),
    fits: isIn('ACTIVE', 'INITIAL', 'LOCKED'),
    effects: () => USER_ACTIONS.deactivate.effects(),
  },
  {
    name: 'delete',
    ...calls('deleteUser'),
    fits: () => true,
    effects: () => USER_ACTIONS.delete.effects(),
    isFinal: true,
  },
];

/** The mail that `password_reset` sends, as `signin/credentials/password-reset.ts` chooses it. */
function resetMail(subject: Subject): 'first' | 'verify' | 'new' {
  const isVerified = subject.user.human?.email.isVerified ?? false;
  if (isIn('INITIAL')(subject) || !(isVerified || subject.background?.hasPassword)) return 'first';
  return isVerified ? 'new' : 'verify';
}

function addressOf({ user }: Subject): string {
  return user.human?.email.email ?? '';
}

/** Whether the person may do it to this user: by their role, and because the user has no more rights than they. */
export function isAllowed(caller: Caller, { operation }: Action, { user, details, rights }: Subject): boolean {
  if (!may(caller, operation, details.resourceOwner)) return false;
  return user.userId === caller.userId || covers(caller, rights);
}

/** Whether the person may remove links of this user. */
export function mayRemoveLinks(caller: Caller, { user, details, rights }: Subject): boolean {
  const isSelf = user.userId === caller.userId;
  return isSelf || (may(caller, 'removeUserLink', details.resourceOwner) && covers(caller, rights));
}

/** The actions to offer on the page of the user. */
export function actionsFor(caller: Caller, subject: Subject): Action[] {
  return ACTIONS.filter((action) => isAllowed(caller, action, subject) && action.fits(subject));
}
