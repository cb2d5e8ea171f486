/** The first page of `/account`: who is signed in, and what each section has. */

import { OAUTH_PATHS } from '../../contract/own-clients.ts';
import { linksOf } from '../../directory/idp-links.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { selfDeletionAllowed } from '../../directory/policies.ts';
import { factorsOf } from '../../directory/users/second-factors.ts';
import { type MessageKey, say, sayHtml } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { listLogins, MOST_LISTED } from '../sessions.ts';
import { accountUrl } from './person.ts';
import type { Content, Section, Visit } from './section.ts';

export const OVERVIEW: Section = {
  path: '',
  title: 'account.title',
  needsRecent: false,
  show,
  steps: {},
};

interface Row {
  section: string;
  name: MessageKey;
  value: Html | string;
}

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const { user } = person;
  const org = await requireOrg(deps.pool, user.orgId);
  const rows = await rowsOf(visit);
  const body = html`<p>${sayHtml('account.signedInAs', { user: user.userName, organization: org.name })}</p>
<ul class="rows sections">${rows.map(({ section, name, value }) => html`<li><a href="${accountUrl(deps.config, section)}">${say(name)}</a><span>${value}</span></li>\n`)}</ul>
<p class="links"><a href="${deps.config.baseUrl}${OAUTH_PATHS.end_session}">${say('common.signOut')}</a></p>`;
  return { body };
}

async function rowsOf({ deps, person }: Visit): Promise<Row[]> {
  const { pool, config } = deps;
  const { user } = person;
  const links = await linksOf(pool, user.id);
  const { totps, otpEmail, otpSms, securityKeys, passkeys, recoveryLeft } = await factorsOf(pool, user.id);
  const apps = totps.filter((app) => app.confirmedAt !== null).length;
  const logins = await listLogins(pool, user.id, config.SESSION_TTL_DAYS);
  const isMore = logins.length === MOST_LISTED;
  return [
    { section: 'profile', name: 'account.profile', value: user.displayName ?? '' },
    { section: 'email', name: 'account.emailAddress', value: contact('email', user.email, user.emailVerified) },
    { section: 'phone', name: 'account.phoneNumber', value: contact('phone', user.phone, user.phoneVerified) },
    {
      section: 'password',
      name: 'common.password',
      value: say(user.hasPassword ? 'account.passwordSet' : 'account.noPassword'),
    },
    { section: 'authenticators', name: 'factor.apps', value: count('apps', apps) },
    {
      section: 'sent-codes',
      name: 'factor.sentCodes',
      value: say('account.sentCodes', { ways: waysOf({ otpEmail, otpSms }) }),
    },
    {
      section: 'recovery-codes',
      name: 'factor.recoveryCodes',
      value: recoveryLeft === 0 ? noneOf('recoveryCodes') : say('account.recoveryLeft', { left: recoveryLeft }),
    },
    { section: 'passkeys', name: 'factor.passkeys', value: count('passkeys', passkeys + securityKeys) },
    { section: 'links', name: 'account.links', value: count('links', links.length) },
    {
      section: 'logins',
      name: 'account.logins',
      value: isMore ? say('account.signInsOrMore', { most: MOST_LISTED }) : String(logins.length),
    },
    { section: 'data', name: 'account.data', value: say('account.downloadWhatIsStored') },
    ...((await selfDeletionAllowed(pool, user.id))
      ? [{ section: 'delete', name: 'account.delete' as const, value: '' }]
      : []),
  ];
}

/** What a person may have none of; languages whose words have a gender say it in that of the thing. */
type Missing = 'email' | 'phone' | 'apps' | 'recoveryCodes' | 'passkeys' | 'links';

function noneOf(what: Missing): string {
  return say('account.none', { what });
}

function count(what: Missing, of: number): string {
  return of === 0 ? noneOf(what) : String(of);
}

function waysOf({ otpEmail, otpSms }: Record<'otpEmail' | 'otpSms', boolean>): 'both' | 'email' | 'text' | 'none' {
  if (otpEmail && otpSms) return 'both';
  return otpEmail ? 'email' : otpSms ? 'text' : 'none';
}

function contact(what: Missing, value: string | null, isVerified: boolean): string {
  if (value === null || value === '') return noneOf(what);
  return isVerified ? value : say('account.contactUnconfirmed', { contact: value });
}
