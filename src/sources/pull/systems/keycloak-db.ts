/**
 * Keycloak's own PostgreSQL database, read-only: the only way to read password hashes from a running Keycloak, as its
 * admin API does not return them. Rows become users as a realm export shows them.
 *
 * Keycloak stores no time of a user's last change, so changes are found by comparison. The statements fit its tables since
 * Keycloak 8.
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation
 * https://github.com/keycloak/keycloak/tree/main/model/jpa/src/main/resources/META-INF
 */
import { UsageError } from '../../read/records.ts';
import type { Fields } from '../../source.ts';
import { DATABASE, DATABASE_PASSWORD, openDatabase } from '../open-sql.ts';
import type { Database } from '../sql.ts';
import {
  numberOption,
  PullError,
  type PullSettings,
  type PullSystem,
  type RecordPage,
  requiredOption,
} from '../system.ts';

export const keycloakDb: PullSystem = {
  name: 'keycloak-db',
  title: 'Keycloak (PostgreSQL)',
  describe: "Keycloak's PostgreSQL database, read-only, with password hashes",
  source: 'keycloak',
  options: {
    database: DATABASE,
    realm: { describe: 'name of the realm', required: true },
    schema: { describe: "schema of Keycloak's tables", default: 'public' },
    'page-size': { describe: 'users in a query', default: '1000' },
  },
  secrets: [DATABASE_PASSWORD],
  tellsChanges: false,
  continues: true,
  async open(settings) {
    const database = await openDatabase(settings);
    try {
      return await openRealm(database, settings);
    } catch (error) {
      await database.close();
      throw error;
    }
  },
};

const REALM = 'select id, name from realm where name = $1';

async function openRealm(database: Database, settings: PullSettings) {
  if (database.dialect !== 'postgres') throw new UsageError('keycloak-db reads PostgreSQL; see --database.');
  const realm = requiredOption(settings, 'realm');
  const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 10_000]);
  const [found] = await database.query(REALM, [realm]).catch(notKeycloak);
  if (found === undefined) throw new PullError('failed', `The database has no realm "${realm}".`, 'Check --realm.');
  const realmId = String(found.id);
  return {
    identity: `${database.identity} realm ${realm}`,
    pages: ({ cursor = '' }: { cursor: string | undefined }) => pages(database, realmId, cursor, size),
    close: () => database.close(),
  };
}

/** Undefined table or column. */
const OTHER_SCHEMA = ['42P01', '42703'];

function notKeycloak(error: Error & { code?: string }): Fields[] {
  if (!OTHER_SCHEMA.includes(error.code ?? '')) throw error;
  throw new PullError(
    'failed',
    `The tables are not those of Keycloak 8 or later: ${error.message}`,
    'Check the name of the database in --database, and --schema.',
  );
}

interface UserRow {
  id: string;
  username: string | null;
  email: string | null;
  email_verified: boolean;
  enabled: boolean;
  first_name: string | null;
  last_name: string | null;
  created_timestamp: string | null;
  federation_link: string | null;
  service_account_client_link: string | null;
  attributes: [name: string, value: string | null][] | null;
  credentials: Fields[] | null;
  identities: Fields[] | null;
  actions: string[] | null;
  roles: [client: string | null, name: string][] | null;
  groups: string[] | null;
}

interface GroupRow {
  id: string;
  name: string;
  /** A blank for a group at the top. */
  parent: string | null;
}

/** Groups of organizations (type 1) are no groups of the realm. */
const GROUPS = `
  select id, name, parent_group as parent
  from keycloak_group g
  where realm_id = $1 and to_jsonb(g) ->> 'type' is distinct from '1'`;

/**
 * A page of users. The subqueries find their rows by the indexes on user_id.
 * `long_value` exists since Keycloak 24; read as JSON, a column that is not there is null.
 */
const USERS = `
  select u.id, u.username, u.email, u.email_verified, u.enabled, u.first_name, u.last_name, u.created_timestamp,
    u.federation_link, u.service_account_client_link,
    (select jsonb_agg(jsonb_build_array(a.name, coalesce(to_jsonb(a) ->> 'long_value', a.value)) order by a.name, a.id)
     from user_attribute a where a.user_id = u.id) as attributes,
    (select jsonb_agg(jsonb_build_object('type', c.type, 'priority', c.priority, 'userLabel', c.user_label,
       'createdDate', c.created_date, 'secretData', c.secret_data, 'credentialData', c.credential_data)
       order by c.priority, c.id)
     from credential c where c.user_id = u.id) as credentials,
    (select jsonb_agg(jsonb_build_object('identityProvider', f.identity_provider, 'userId', f.federated_user_id,
       'userName', f.federated_username) order by f.identity_provider)
     from federated_identity f where f.user_id = u.id) as identities,
    (select jsonb_agg(r.required_action order by r.required_action)
     from user_required_action r where r.user_id = u.id) as actions,
    (select jsonb_agg(jsonb_build_array(c.client_id, r.name) order by c.client_id, r.name)
     from user_role_mapping m join keycloak_role r on r.id = m.role_id left join client c on c.id = r.client
     where m.user_id = u.id) as roles,
    (select jsonb_agg(g.group_id order by g.group_id)
     from user_group_membership g where g.user_id = u.id) as groups
  from user_entity u
  where u.realm_id = $1 and u.id > $2
  order by u.id
  limit $3`;

async function* pages(database: Database, realmId: string, from: string, size: number): AsyncGenerator<RecordPage> {
  const rows = (await database.query(GROUPS, [realmId]).catch(notKeycloak)) as unknown as GroupRow[];
  const groups = groupPaths(rows);
  for (let cursor = from; ; ) {
    const users = (await database.query(USERS, [realmId, cursor, size]).catch(notKeycloak)) as unknown as UserRow[];
    cursor = users.at(-1)?.id ?? cursor;
    if (users.length > 0) yield { records: users.map((row) => representationOf(row, groups)), cursor };
    if (users.length < size) return;
  }
}

/** A row as UserRepresentation, with credentials. @param groups path of each group by its id */
function representationOf(row: UserRow, groups: ReadonlyMap<string, string>): Fields {
  return {
    id: row.id,
    username: row.username,
    email: row.email,
    emailVerified: row.email_verified,
    enabled: row.enabled,
    firstName: row.first_name,
    lastName: row.last_name,
    createdTimestamp: row.created_timestamp === null ? null : Number(row.created_timestamp),
    federationLink: row.federation_link,
    serviceAccountClientId: row.service_account_client_link,
    attributes: attributesOf(row.attributes ?? []),
    credentials: row.credentials ?? [],
    federatedIdentities: row.identities ?? [],
    requiredActions: row.actions ?? [],
    ...rolesOf(row.roles ?? []),
    groups: (row.groups ?? []).flatMap((id) => groups.get(id) ?? []).sort(),
  };
}

function attributesOf(rows: readonly [string, string | null][]): Fields {
  const attributes = new Map<string, string[]>();
  for (const [name, value] of rows) {
    if (value !== null) attributes.set(name, [...(attributes.get(name) ?? []), value]);
  }
  return Object.fromEntries(attributes);
}

function rolesOf(rows: readonly [string | null, string][]): { realmRoles: string[]; clientRoles: Fields } {
  const ofClients = new Map<string, string[]>();
  for (const [client, name] of rows) {
    if (client !== null) ofClients.set(client, [...(ofClients.get(client) ?? []), name]);
  }
  const realmRoles = rows.filter(([client]) => client === null).map(([, name]) => name);
  return { realmRoles, clientRoles: Object.fromEntries(ofClients) };
}

/** `/company/team` by the id of the group. */
function groupPaths(rows: readonly GroupRow[]): Map<string, string> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const paths = new Map<string, string>();
  const pathOf = ({ id, name, parent }: GroupRow, depth: number): string => {
    const above = byId.get(parent ?? '');
    // Keycloak keeps groups free of circles; a damaged table must not hang the pull.
    const path = `${above && depth < 100 ? pathOf(above, depth + 1) : ''}/${name}`;
    paths.set(id, path);
    return path;
  };
  for (const row of rows) if (!paths.has(row.id)) pathOf(row, 0);
  return paths;
}
