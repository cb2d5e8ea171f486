/**
 * The mails that the import of a draft may send, as the users of one organization get them, and who sends them. Each
 * organization has mails with its own name, look and sentences, so the caller chooses whose are shown.
 *
 * Guarantee: a mail is made by the code that makes the one that is sent; only its user and code are made up. However
 * many organizations an import has, MOST_ORGS are named.
 */
import type { z } from 'zod';
import type { mailsPreview } from '../../contract/draft-results.ts';
import { mailLookFor } from '../../directory/branding.ts';
import { findOrgs } from '../../directory/organizations.ts';
import { previewMail } from '../../messages/mail/preview.ts';
import type { Sender } from '../../messages/mail/sender.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportDryRuns } from '../../platform/db/tables.ts';
import { invalidArgument } from '../../platform/errors.ts';
import { languageFor } from '../../platform/messages/catalogue.ts';
import type { ImportDeps } from '../entries/options.ts';
import type { Draft } from './draft.ts';

type Preview = z.input<typeof mailsPreview>;

/** Kinds of mail as the API names them, in the order in which they are shown. */
const KINDS = [
  ['verification', 'verify_email'],
  ['initialisation', 'initialise'],
  ['passkey', 'add_passkey'],
] as const;

/** Organizations that are named with their number of mails; any other one can be asked for by its id. */
const MOST_ORGS = 100;

interface PreviewDeps extends Pick<ImportDeps, 'pool' | 'config'> {
  sender: () => Promise<Sender>;
}

/**
 * @param named the organization whose mails are shown; default: the one with the most
 * @throws ApiError 400 IMPORT-QUERY for an organization that the import does not have
 */
export async function previewMails(
  { pool, config, sender }: PreviewDeps,
  { orgs, checkId }: Pick<Draft, 'orgs' | 'checkId'>,
  named: string | undefined,
): Promise<Preview> {
  if (named !== undefined && !orgs.includes(named)) {
    throw invalidArgument('IMPORT-QUERY', 'orgId must be the id of an organization of the import.');
  }
  const [from, all, counted] = await Promise.all([sender(), mailsOfCheck(pool, checkId), orgsWithMails(pool, checkId)]);
  const orgId = named ?? counted.orgs[0]?.orgId ?? orgs[0];
  const org = await organization(pool, orgId);
  // A check of an earlier version counted for the import only.
  const own = counted.orgs.length === 0 ? all : await mailsOfOrg(pool, checkId, orgId);
  return {
    ...from,
    ...(await mailsOf({ pool, config }, org, own)),
    ...(orgId === undefined ? {} : { orgId }),
    ...counted,
    ...(all === undefined ? {} : { kinds: kindsOf(all) }),
  };
}

/** How many users would get which mail, by kind and language (`Found` of run/dry-run.ts). */
type Counts = Record<string, number>;

/** Each mail of the organization in each language. @param counted undefined before a check */
async function mailsOf(
  { pool, config }: Pick<PreviewDeps, 'pool' | 'config'>,
  org: { id: string; name: string },
  counted: Counts | undefined,
): Promise<Pick<Preview, 'language' | 'mails'>> {
  const look = await mailLookFor(pool, org.id, config.baseUrl);
  const language = languageFor(look.languages);
  const expiresAt = new Date(Date.now() + config.CODE_TTL_MS);
  const mails = KINDS.flatMap(([name, kind]) => {
    const users = new Map<string, number>([[language, 0]]);
    for (const [key, count] of Object.entries(counted ?? {})) {
      const [of, preferred = language] = key.split(' ');
      if (of === kind) users.set(preferred, (users.get(preferred) ?? 0) + count);
    }
    return [...users].map(([chosen, count]) => ({
      kind: name,
      ...(counted === undefined ? {} : { users: count }),
      // The addresses are not verified yet, so no mail has a name.
      ...previewMail(config, { kind, org, languages: { chosen }, look, expiresAt, displayName: '' }),
      validForSeconds: Math.floor(config.CODE_TTL_MS / 1000),
    }));
  });
  return { language, mails };
}

function kindsOf(counted: Counts): NonNullable<Preview['kinds']> {
  const kinds = { verification: 0, initialisation: 0, passkey: 0 };
  for (const [key, users] of Object.entries(counted)) {
    const [name] = KINDS.find(([, kind]) => kind === key.split(' ')[0]) ?? [];
    if (name) kinds[name] += users;
  }
  return kinds;
}

/** Of all organizations; undefined before a check. */
async function mailsOfCheck(pool: Pool, checkId: string | undefined): Promise<Counts | undefined> {
  if (checkId === undefined) return undefined;
  const text = 'select mails, verifications, initialisations from import_dry_runs where import_id = $1';
  type Row = Pick<ImportDryRuns, 'verifications' | 'initialisations'> & { mails: Counts };
  const [row] = (await pool.query<Row>(text, [checkId])).rows;
  if (!row || Object.keys(row.mails).length > 0) return row?.mails;
  // A check of an earlier version, or nothing to send.
  return { verify_email: row.verifications, initialise: row.initialisations };
}

/** The organizations whose users would get mails, the most first. */
async function orgsWithMails(pool: Pool, checkId: string | undefined): Promise<Pick<Preview, 'orgs' | 'moreOrgs'>> {
  if (checkId === undefined) return { orgs: [], moreOrgs: 0 };
  const { rows } = await pool.query<Preview['orgs'][number] & { all: number }>(
    `with counted as (
       select o.org_id, sum(m.value::int)::int as mails from import_orgs o cross join jsonb_each_text(o.mails) m
       where o.import_id = $1 group by o.org_id)
     select c.org_id as "orgId", coalesce(g.name, '') as name, c.mails, count(*) over ()::int as all
     from counted c left join organizations g on g.id = c.org_id order by c.mails desc, c.org_id limit $2`,
    [checkId, MOST_ORGS],
  );
  const orgs = rows.map(({ orgId, name, mails }) => ({ orgId, name, mails }));
  return { orgs, moreOrgs: (rows[0]?.all ?? 0) - orgs.length };
}

async function mailsOfOrg(pool: Pool, checkId: string | undefined, orgId: string | undefined): Promise<Counts> {
  const { rows } = await pool.query<{ key: string; users: number }>(
    `select m.key, sum(m.value::int)::int as users from import_orgs o cross join jsonb_each_text(o.mails) m
     where o.import_id = $1 and o.org_id = $2 group by m.key order by m.key`,
    [checkId, orgId],
  );
  return Object.fromEntries(rows.map(({ key, users }) => [key, users]));
}

/** An organization that is in the example by its name. */
async function organization(pool: Pool, orgId = ''): Promise<{ id: string; name: string }> {
  const [org] = orgId === '' ? [] : await findOrgs(pool, [orgId]);
  return { id: orgId, name: org?.name ?? '' };
}
