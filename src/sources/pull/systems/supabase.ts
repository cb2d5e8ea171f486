/**
 * Supabase Auth: its tables in PostgreSQL, with password hashes, identities, authenticator apps and
 * the methods of sessions.
 * https://supabase.com/docs/guides/auth/managing-user-data, https://github.com/supabase/auth/tree/master/migrations
 */
import { DATABASE, DATABASE_PASSWORD, openDatabase } from '../open-sql.ts';
import { keysetPages } from '../sql.ts';
import { numberOption, type PullSystem, requiredOption } from '../system.ts';

/** `provider_id` exists since 2023; read as JSON, a column that is not there is null. */
const QUERY = `
  select u.*,
    (select jsonb_agg(jsonb_build_object('id', i.id, 'provider', i.provider, 'provider_id', to_jsonb(i) ->> 'provider_id',
       'identity_data', i.identity_data) order by i.provider, i.id)
     from auth.identities i where i.user_id = u.id) as identities,
    (select jsonb_agg(jsonb_build_object('status', f.status, 'factor_type', f.factor_type, 'secret', f.secret) order by f.id)
     from auth.mfa_factors f where f.user_id = u.id) as factors,
    (select jsonb_agg(jsonb_build_object('authentication_method', c.authentication_method, 'created_at', c.created_at)
       order by c.created_at, c.authentication_method)
     from auth.sessions s join auth.mfa_amr_claims c on c.session_id = s.id where s.user_id = u.id) as amr_claims
  from auth.users u
  where u.updated_at >= :since or u.updated_at is null
    or exists (select from auth.identities i where i.user_id = u.id and i.updated_at >= :since)
    or exists (select from auth.mfa_factors f where f.user_id = u.id and f.updated_at >= :since)`;

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
    return {
      identity: database.identity,
      pages: (start) => keysetPages(database, { query: QUERY, key: 'id', size }, start),
      close: () => database.close(),
    };
  },
};
