/** The first page of `/account`: who is signed in, and what each section has. */

import { OAUTH_PATHS } from '../../contract/own-clients.ts';
import { linksOf } from '../../directory/idp-links.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { selfDeletionAllowed } from '../../directory/policies.ts';
import { factorsOf } from '../../directory/users/second-factors.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { listLogins, MOST_LISTED } from '../sessions.ts';
import { accountUrl } from './person.ts';
import type { Content, Section, Visit } from './section.ts';

export const OVERVIEW: Section = {
  path: '',
  title: 'Your account',
  needsRecent: false,
  show,
  steps: {},
};

interface Row {
  section: string;
  name: string;
  value: Html | string;
}

async function show(visit: Visit): Promise<Content> {
  const { deps, person } = visit;
  const { user } = person;
  const org = await requireOrg(deps.pool, user.orgId);
  const rows = await rowsOf(visit);
  const body = html`<p>You are signed in as <strong>${user.userName}</strong> of <strong>${org.name}</strong>.</p>
<ul class="rows sections">${rows.map(({ section, name, value }) => html`<li><a href="${accountUrl(deps.config, section)}">${name}</a><span>${value}</span></li>\n`)}</ul>
<p class="links"><a href="${deps.config.baseUrl}${OAUTH_PATHS.end_session}">Sign out</a></p>`;
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
    { section: 'profile', name: 'Name and language', value: user.displayName ?? '' },
    { section: 'email', name: 'Email address', value: contact(user.email, user.emailVerified) },
    { section: 'phone', name: 'Phone number', value: contact(user.phone, user.phoneVerified) },
    { section: 'password', name: 'Password', value: user.hasPassword ? 'Set' : 'None' },
    { section: 'authenticators', name: 'Authenticator apps', value: count(apps) },
    {
      section: 'sent-codes',
      name: 'Codes by email and text message',
      value: [...(otpEmail ? ['Email'] : []), ...(otpSms ? ['Text message'] : [])].join(', ') || 'Off',
    },
    { section: 'recovery-codes', name: 'Recovery codes', value: recoveryLeft === 0 ? 'None' : `${recoveryLeft} left` },
    { section: 'passkeys', name: 'Passkeys and security keys', value: count(passkeys + securityKeys) },
    { section: 'links', name: 'Connected accounts', value: count(links.length) },
    {
      section: 'logins',
      name: 'Where you are signed in',
      value: isMore ? `${MOST_LISTED} or more` : String(logins.length),
    },
    { section: 'data', name: 'Your data', value: 'Download what is stored about you' },
    ...((await selfDeletionAllowed(pool, user.id))
      ? [{ section: 'delete', name: 'Delete your account', value: '' }]
      : []),
  ];
}

function count(of: number): string {
  return of === 0 ? 'None' : String(of);
}

function contact(value: string | null, isVerified: boolean): string {
  if (value === null || value === '') return 'None';
  return isVerified ? value : `${value} (not confirmed yet)`;
}
