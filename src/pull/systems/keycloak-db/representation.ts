/**
 * Rows of Keycloak's tables as a realm export shows them: UserRepresentation, with credentials.
 * https://www.keycloak.org/docs-api/latest/rest-api/index.html#UserRepresentation
 */
import type { Fields } from '../../../sources/source.ts';

export interface UserRow {
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

/** @param groups path of each group by its id */
export function representationOf(row: UserRow, groups: ReadonlyMap<string, string>): Fields {
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

export interface GroupRow {
  id: string;
  name: string;
  /** A blank for a group at the top. */
  parent: string | null;
}

/** `/company/team` by the id of the group. */
export function groupPaths(rows: readonly GroupRow[]): Map<string, string> {
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
