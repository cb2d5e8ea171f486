/**
 * Where the links in an organization's emails may lead: a link carries a code, and users trust an email of the service.
 *
 * Guarantee: a link leads only to an origin that the organization allows, to the service itself, or to the redirect
 * URIs of an OAuth client. An IAM_OWNER registers those clients, and browsers already bring them the codes of logins.
 */
import { type AppendedEvent, appendEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';

/** Replaces the origins that an existing organization allows; call it in a transaction. */
export async function setAllowedUrls(db: Db, orgId: string, origins: string[], editor: string): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.allowed_urls.set',
    editor,
    payload: { allowedUrls: origins },
  });
  const text = 'update organizations set allowed_urls = $2, sequence = $3, changed_at = $4 where id = $1';
  await db.query(text, [orgId, origins, event.sequence, event.createdAt]);
  return event;
}

/** The origins that the organization allows itself. */
export async function allowedUrlsOf(db: Db, orgId: string): Promise<string[]> {
  const { rows } = await db.query<{ origins: string[] }>(
    'select allowed_urls as origins from organizations where id = $1',
    [orgId],
  );
  return rows[0]?.origins ?? [];
}

/** Whether links in emails of the organization may lead to the origin. */
export async function isAllowedOrigin(db: Db, orgId: string, origin: string, baseUrl: string): Promise<boolean> {
  if (origin === new URL(baseUrl).origin) return true;
  if ((await allowedUrlsOf(db, orgId)).includes(origin)) return true;
  const { rows } = await db.query<{ uri: string }>(
    'select unnest(redirect_uris || post_logout_redirect_uris) as uri from oauth_clients',
  );
  return rows.some(({ uri }) => URL.parse(uri)?.origin === origin);
}
