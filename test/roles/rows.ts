/** Database rows, and resources created over HTTP by the instance's administrator, for callers to act on. */
import { randomBytes } from 'node:crypto';
import { newFileKey } from '../../src/imports/drafts/files.ts';
import { newId } from '../../src/platform/ids.ts';
import { type TestApi, unique } from '../support/api.ts';

export async function newOrg(api: TestApi): Promise<string> {
  return (await must(api, 'POST', '/management/v1/orgs', { name: unique('Acme') })).id;
}

export async function endedImport(api: TestApi, orgId: string): Promise<string> {
  const profile = { firstName: 'Ann', lastName: 'Arbor' };
  const humanUsers = [{ user: { userName: unique('moved'), profile, email: { email: 'moved@example.com' } } }];
  const body = { dataOrgs: { orgs: [{ orgId, humanUsers }] }, timeout: '1h' };
  const { importId } = await must(api, 'POST', '/admin/v1/import', body);
  await must(api, 'POST', `/admin/v1/imports/${importId}/_cancel`, {});
  return importId;
}

/** A draft whose creator is nobody's caller, with a file of four bytes. */
export async function insertDraft(
  { deps: { pool, secrets } }: TestApi,
  orgId: string,
): Promise<{ importId: string; fileId: string }> {
  const fileId = newId();
  const { rows } = await pool.query<{ import_id: string }>(
    `with import as (
       insert into imports (kind, state, created_by, resource_owner) values ('draft', 'uploading', 'somebody', $1) returning id),
     draft as (
       insert into import_preparations (import_id, org_id, orgs, expires_at)
       select id, $1, array[$1], now() + interval '1 hour' from import returning import_id)
     select import_id from draft`,
    [orgId],
  );
  const importId = String(rows[0]?.import_id);
  await pool.query(
    `insert into import_files (import_id, file_id, kind, name, size, key_sealed) values ($1, $2, 'users', 'f', 4, $3)`,
    [importId, fileId, newFileKey(secrets)],
  );
  return { importId, fileId };
}

export interface Human {
  orgId: string;
  passwordHash: string;
  state?: string | undefined;
}

/** A human with a phone number; neither it nor the email address is verified. */
export async function insertHuman(api: TestApi, { orgId, passwordHash, state = 'active' }: Human): Promise<string> {
  const id = `auth0|${randomBytes(6).toString('hex')}`;
  await api.deps.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, given_name, family_name, display_name,
                        email, email_key, phone, password_hash, password_changed_at, sequence)
     values ($1, $2, 'human', $3, $1, $1, 'Ann', 'Example', 'Ann Example', 'ann@example.com', 'ann@example.com',
             '+41791234567', $4, now(), 1)`,
    [id, orgId, state, passwordHash],
  );
  return id;
}

export async function insertMachine(api: TestApi, orgId: string): Promise<string> {
  const id = newId();
  await api.deps.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, machine_name, sequence)
     values ($1, $2, 'machine', 'active', $1, $1, 'Robot', 1)`,
    [id, orgId],
  );
  return id;
}

export async function ownerOf(api: TestApi, userId: string): Promise<{ id: string; orgId: string }> {
  const { rows } = await api.deps.pool.query('select id, org_id as "orgId" from users where id = $1', [userId]);
  return rows[0];
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers as callers do
export async function must(api: TestApi, method: string, path: string, body: unknown, orgId?: string): Promise<any> {
  const answer = await api.call(method, path, body, orgId === undefined ? {} : { orgId });
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
