/**
 * Stores how the pages and mails of organizations look. What an organization has not set is that of the instance, field
 * by field, and what the instance has not set is ours.
 *
 * Guarantee: every change is in one transaction with its event, when the caller passes a transaction's connection.
 */
import { createHash } from 'node:crypto';
import {
  BRANDING_FIELDS,
  type BrandingField,
  type BrandingSettings,
  changedBranding,
  type GivenBranding,
  type MergedBranding,
  mergedBranding,
  type StoredSettings,
} from '../contract/branding.ts';
import type { Logo } from '../contract/logo.ts';
import { type MailLook, mailLook } from '../messages/mail/branding.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import { type Db, prepared } from '../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../platform/db/rows.ts';
import type { Branding as Brandings } from '../platform/db/tables.ts';
import { type PolicyOwner, type PolicyRow, policyOwnerId } from './policies.ts';

/** The branding of an organization, or of the instance. */
export interface StoredBranding {
  branding: MergedBranding;
  logo: Pick<Logo, 'type' | 'bytes'> | undefined;
  /** The fields that the organization, or else the instance, has set itself. */
  own: BrandingField[];
  row: PolicyRow;
}

const STORED = {
  orgId: 'org_id',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
  logo: 'logo',
  logoType: 'logo_type',
  logoHash: 'logo_hash',
  logoWidth: 'logo_width',
  logoHeight: 'logo_height',
} as const satisfies Names<Brandings>;

const PICTURE = ['logo', 'logoType', 'logoHash', 'logoWidth', 'logoHeight'] as const;

interface Row extends Named<Brandings, typeof STORED> {
  settings: BrandingSettings;
}

/** Whose pages: of an organization, of the organization of a user, or without either of the instance. */
export interface BrandingOf {
  orgId?: string | undefined;
  userId?: string | undefined;
}

/** What pages show, in one statement that reads two rows by their index. */
export async function brandingFor(
  db: Db,
  { orgId, userId }: BrandingOf,
): Promise<{
  branding: MergedBranding;
  languages: { organization: string | undefined; instance: string | undefined };
}> {
  const { rows } = await db.query<ShownRow>(prepared(SHOWN, [orgId ?? null, userId ?? null]));
  const own = rows.find((row) => row.orgId !== null);
  const instance = rows.find((row) => row.orgId === null);
  const languages = { organization: own?.settings.language, instance: instance?.settings.language };
  return { branding: mergedBranding(rows), languages };
}

/** How the mails of an organization look. @param baseUrl the public address @param change of its own branding, not stored */
export async function mailLookFor(db: Db, orgId: string, baseUrl: string, change?: GivenBranding): Promise<MailLook> {
  const { rows } = await db.query<ShownRow>(prepared(SHOWN, [orgId, null]));
  if (!change) return mailLook(rows, baseUrl);
  const own = rows.find((row) => row.orgId !== null) ?? { orgId, settings: {}, logoHash: null };
  return mailLook([withChange(own, change), ...rows.filter((row) => row.orgId === null)], baseUrl);
}

function withChange(own: StoredSettings, { reset = [], logo, ...given }: GivenBranding): StoredSettings {
  const settings = changedBranding(without(own.settings, reset), given);
  if (logo) {
    const logoUrl = `data:${logo.type};base64,${logo.bytes.toString('base64')}`;
    return { ...own, settings, logoHash: hashOf(logo), logoWidth: logo.width, logoHeight: logo.height, logoUrl };
  }
  return { ...own, settings, logoHash: reset.includes('logo') ? null : own.logoHash };
}

function hashOf({ bytes }: Pick<Logo, 'bytes'>): string {
  return createHash('sha256').update(bytes).digest('hex');
}

type ShownRow = Pick<Row, 'orgId' | 'settings' | 'logoHash' | 'logoWidth' | 'logoHeight'>;

/** SQL: the rows of an organization or of that of a user, if it has one, and of the instance. */
const SHOWN = `select org_id as "orgId", settings, logo_hash as "logoHash", logo_width as "logoWidth",
    logo_height as "logoHeight" from branding
  where org_id = coalesce($1, (select org_id from users where id = $2)) or org_id is null
  order by org_id nulls last`;

/** The branding as it is shown, with what was set here. */
export async function storedBranding(db: Db, owner: PolicyOwner): Promise<StoredBranding> {
  const { rows } = await db.query<Row>(
    `select ${columnList(STORED)}, settings from branding where org_id = $1 or org_id is null order by org_id nulls last`,
    [owner],
  );
  const row = oneRow(rows.slice(0, 1));
  const { logo, logoType } = rows.find(({ logoHash }) => logoHash !== null) ?? {};
  return {
    branding: mergedBranding(rows),
    logo: logo && logoType ? { bytes: logo, type: logoType as Logo['type'] } : undefined,
    own: (row.orgId ?? null) === owner ? BRANDING_FIELDS.filter((field) => isSet(row, field)) : [],
    row,
  };
}

/** The picture with this hash. */
export async function findLogo(db: Db, hash: string): Promise<Pick<Logo, 'type' | 'bytes'> | undefined> {
  const { rows } = await db.query<Pick<Row, 'logo' | 'logoType'>>(
    `select logo, logo_type as "logoType" from branding where logo_hash = $1 limit 1`,
    [hash],
  );
  const [{ logo, logoType } = {}] = rows;
  return logo && logoType ? { bytes: logo, type: logoType as Logo['type'] } : undefined;
}

/**
 * Changes the branding of an organization, which it gets if it has none, or that of the instance.
 * @param given fields that it omits keep their values, unless `reset` names them
 */
export async function updateBranding(
  db: Db,
  owner: PolicyOwner,
  { reset = [], logo, ...given }: GivenBranding,
  editor: string,
): Promise<PolicyRow> {
  // So that of two changes at the same time the last one has the last event.
  if (owner !== null) await db.query('select from organizations where id = $1 for no key update', [owner]);
  const { rows } = await db.query<Row>(
    `select ${columnList(STORED)}, settings from branding where org_id is not distinct from $1 for update`,
    [owner],
  );
  const [before] = rows;
  const settings = changedBranding(without(before?.settings ?? {}, reset), given);
  const kept = reset.includes('logo') ? undefined : before;
  const picture = logo
    ? [logo.bytes, logo.type, hashOf(logo), logo.width, logo.height]
    : PICTURE.map((column) => kept?.[column] ?? null);
  const change = before ? 'changed' : 'added';
  const event = await brandingEvent(db, { owner, change, editor, payload: { ...settings, logo: picture[2] } });
  const stored = await db.query<PolicyRow>(
    `insert into branding as b (org_id, settings, logo, logo_type, logo_hash, logo_width, logo_height, sequence,
       created_at, changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
     on conflict (org_id) do update set settings = excluded.settings, logo = excluded.logo, logo_type = excluded.logo_type,
       logo_hash = excluded.logo_hash, logo_width = excluded.logo_width, logo_height = excluded.logo_height,
       sequence = excluded.sequence, changed_at = excluded.changed_at
     returning org_id as "orgId", sequence, created_at as "createdAt", changed_at as "changedAt"`,
    [owner, JSON.stringify(settings), ...picture, event.sequence, event.createdAt],
  );
  return oneRow(stored.rows);
}

/** Removes the organization's own branding, if any. */
export async function resetBranding(db: Db, orgId: string, editor: string): Promise<AppendedEvent> {
  await db.query('delete from branding where org_id = $1', [orgId]);
  return brandingEvent(db, { owner: orgId, change: 'reset', editor });
}

function without(settings: BrandingSettings, fields: readonly BrandingField[]): BrandingSettings {
  const copy = structuredClone(settings) as Record<string, unknown>;
  for (const field of fields) {
    const [name, inner] = field.split('.') as [string, string?];
    const object = inner === undefined ? copy : (copy[name] as Record<string, unknown> | undefined);
    delete object?.[inner ?? name];
  }
  return copy;
}

function isSet({ settings, logoHash }: Row, field: BrandingField): boolean {
  if (field === 'logo') return logoHash !== null;
  const [name, inner] = field.split('.') as [keyof BrandingSettings, string?];
  const value = settings[name];
  return (inner === undefined ? value : (value as Record<string, unknown> | undefined)?.[inner]) !== undefined;
}

interface BrandingChange {
  owner: PolicyOwner;
  change: 'added' | 'changed' | 'reset';
  editor: string;
  payload?: Record<string, unknown>;
}

function brandingEvent(db: Db, { owner, change, editor, payload }: BrandingChange): Promise<AppendedEvent> {
  const aggregateType = owner === null ? 'instance' : 'organization';
  const id = policyOwnerId(owner);
  const type = `${aggregateType}.policy.branding.${change}`;
  return appendEvent(db, {
    aggregateType,
    aggregateId: id,
    resourceOwner: id,
    type,
    editor,
    ...(payload ? { payload } : {}),
  });
}
