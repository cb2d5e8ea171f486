/**
 * Supabase Auth: its tables in PostgreSQL, with password hashes, identities, second factors, the methods of sessions and,
 * where the project has these tables, passkeys and recovery codes.
 * https://supabase.com/docs/guides/auth/managing-user-data, https://github.com/supabase/auth/tree/master/migrations
 */
import { DATABASE, DATABASE_PASSWORD, openDatabase } from '../open-sql.ts';
import { type Database, keysetPages } from '../sql.ts';
import { numberOption, type PullSystem, requiredOption } from '../system.ts';

/** Tables that exist since 2026, by the column that they become. */
const NEW_TABLES = {
  passkeys: {
    table: 'auth.webauthn_credentials',
    column: `(select jsonb_agg(to_jsonb(p) order by p.id) from auth.webauthn_credentials p where p.user_id = u.id)`,
    changed: 'select from auth.webauthn_credentials p where p.user_id = u.id and p.updated_at >= :since',
  },
  recovery_codes: {
    table: 'auth.mfa_recovery_codes',
    column: `(select jsonb_agg(jsonb_build_object('code_hash', c.code_hash, 'consumed_at', c.consumed_at) order by c.id)
      from auth.mfa_recovery_codes c join auth.mfa_recovery_code_sets s on s.id = c.mfa_recovery_code_set_id
      where s.user_id = u.id)`,
    changed: 'select from auth.mfa_recovery_code_sets s where s.user_id = u.id and s.updated_at >= :since',
  },
} as const;

/** The columns of the new tables that are there and may be read. */
async function queryFor(database: Database): Promise<string> {
  const found: string[] = [];
  for (const [column, { table }] of Object.entries(NEW_TABLES)) {
    const [row] = await database.query("select has_table_privilege(to_regclass($1), 'select') as may", [table]);
    if (row?.may === true) found.push(column);
  }
  return queryWith(found as (keyof typeof NEW_TABLES)[]);
}

/** `provider_id` exists since 2023; read as JSON, a column that is not there is null. */
function queryWith(found: readonly (keyof typeof NEW_TABLES)[]): string {
  const columns = found.map((name) => `,\n    ${NEW_TABLES[name].column} as ${name}`).join('');
  const changes = found.map((name) => `\n    or exists (${NEW_TABLES[name].changed})`).join('');
  return `
  select u.*,
    (select jsonb_agg(jsonb_build_object('id', i.id, 'provider', i.provider, 'provider_id', to_jsonb(i) ->> 'provider_id',
       'identity_data', i.identity_data) order by i.provider, i.id)
     from auth.identities i where i.user_id = u.id) as identities,
    (select jsonb_agg(jsonb_build_object('status', f.status, 'factor_type', f.factor_type, 'secret', f.secret,
       'friendly_name', to_jsonb(f) ->> 'friendly_name', 'phone', to_jsonb(f) ->> 'phone',
       'web_authn_credential', to_jsonb(f) -> 'web_authn_credential') order by f.id)
     from auth.mfa_factors f where f.user_id = u.id) as factors,
    (select jsonb_agg(jsonb_build_object('authentication_method', c.authentication_method, 'created_at', c.created_at)
       order by c.created_at, c.authentication_method)
     from auth.sessions s join auth.mfa_amr_claims c on c.session_id = s.id where s.user_id = u.id) as amr_claims${columns}
  from auth.users u
  where u.updated_at >= :since or u.updated_at is null
    or exists (select from auth.identities i where i.user_id = u.id and i.updated_at >= :since)
    or exists (select from auth.mfa_factors f where f.user_id = u.id and f.updated_at >= :since)${changes}`;
}

export const supabase: PullSystem = {
  name: 'supabase',
  title: 'Supabase',
  describe: "Supabase's PostgreSQL database, read-only, with password hashes",
  source: 'supabase',
  options: {
    database: DATABASE,
    'page-size': { describe: 'users in a query', default: '1000' },
  },
  secrets: [DATABASE_PASSWORD],
  tellsChanges: true,
  continues: true,
  async open(settings) {
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 10_000]);
    const database = await openDatabase(settings);
    const query = await queryFor(database);
    return {
      identity: database.identity,
      pages: (start) => keysetPages(database, { query, key: 'id', size }, start),
      close: () => database.close(),
    };
  },
};
