/**
 * The tables of a Keycloak database that `muster pull keycloak-db` reads, with users.
 *
 * Columns and indexes are those of Keycloak 26, as its Liquibase change sets create them:
 * https://github.com/keycloak/keycloak/tree/main/model/jpa/src/main/resources/META-INF
 */
import { pbkdf2Sync } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';

export const KEYCLOAK_PASSWORD = 'correct horse';
export const REALM = 'shop';

const TABLES = `
  create table realm (id varchar(36) primary key, name varchar(255) unique);
  create table client (id varchar(36) primary key, client_id varchar(255), realm_id varchar(36));
  create table user_entity (
    id varchar(36) primary key, email varchar(255), email_constraint varchar(255),
    email_verified boolean default false not null, enabled boolean default false not null,
    federation_link varchar(255), first_name varchar(255), last_name varchar(255), realm_id varchar(255),
    username varchar(255), created_timestamp bigint, service_account_client_link varchar(255),
    not_before integer default 0 not null,
    unique (realm_id, email_constraint), unique (realm_id, username));
  create index idx_user_email on user_entity (email);
  create table credential (
    id varchar(36) primary key, salt bytea, type varchar(255), user_id varchar(36), created_date bigint,
    user_label varchar(255), secret_data text, credential_data text, priority integer, version integer default 0);
  create index idx_user_credential on credential (user_id);
  create table user_attribute (
    name varchar(255) not null, value varchar(255), user_id varchar(36) not null,
    id varchar(36) default 'sybase-needs-something-here' primary key, long_value_hash bytea,
    long_value_hash_lower_case bytea, long_value text);
  create index idx_user_attribute on user_attribute (user_id);
  create table federated_identity (
    identity_provider varchar(255) not null, realm_id varchar(36), federated_user_id varchar(255),
    federated_username varchar(255), token text, user_id varchar(36) not null, primary key (identity_provider, user_id));
  create index idx_fedidentity_user on federated_identity (user_id);
  create table user_required_action (
    user_id varchar(36) not null, required_action varchar(255) default ' ' not null,
    primary key (required_action, user_id));
  create index idx_user_reqactions on user_required_action (user_id);
  create table keycloak_role (
    id varchar(36) primary key, client_realm_constraint varchar(255), client_role boolean default false not null,
    description varchar(255), name varchar(255), realm_id varchar(255), client varchar(36), realm varchar(36));
  create table user_role_mapping (role_id varchar(255) not null, user_id varchar(36) not null, primary key (role_id, user_id));
  create index idx_user_role_mapping on user_role_mapping (user_id);
  create table keycloak_group (
    id varchar(36) primary key, name varchar(255), parent_group varchar(36) not null, realm_id varchar(36),
    type integer default 0 not null);
  create table user_group_membership (
    group_id varchar(36) not null, user_id varchar(36) not null, membership_type varchar(255) not null default 'UNMANAGED',
    primary key (group_id, user_id));
  create index idx_user_group_mapping on user_group_membership (user_id);`;

/** Creates the tables in the schema, with a realm, a role of it, one of a client, and a group in a group. */
export async function createKeycloak(pool: Pool, schema: string): Promise<void> {
  await inSchema(pool, schema, async (client) => {
    await client.query(`create schema ${schema}; set local search_path = ${schema}; ${TABLES}`);
    await client.query(`insert into realm values ('r1', '${REALM}'), ('r2', 'other');
      insert into client values ('c1', 'web', 'r1');
      insert into keycloak_role (id, client_role, name, realm_id, client)
        values ('role1', false, 'member', 'r1', null), ('role2', true, 'editor', 'r1', 'c1');
      insert into keycloak_group (id, name, parent_group, realm_id)
        values ('g1', 'company', ' ', 'r1'), ('g2', 'sales', 'g1', 'r1')`);
  });
}

/**
 * Adds users `kc-000001` and so on with a password, an attribute, a role and a group.
 * @param from number of the first one
 */
export async function addKeycloakUsers(
  pool: Pool,
  schema: string,
  from: number,
  to: number,
  iterations = 1000,
): Promise<void> {
  const salt = Buffer.from('0123456789abcdef');
  const value = pbkdf2Sync(KEYCLOAK_PASSWORD, salt, iterations, 64, 'sha512').toString('base64');
  const secret = JSON.stringify({ value, salt: salt.toString('base64'), additionalParameters: {} });
  const data = JSON.stringify({ hashIterations: iterations, algorithm: 'pbkdf2-sha512', additionalParameters: {} });
  const id = "'kc-' || lpad(n::text, 6, '0')";
  const series = `from generate_series(${from}, ${to}) n`;
  await inSchema(pool, schema, async (client) => {
    await client.query(`insert into user_entity (id, email, email_constraint, email_verified, enabled, first_name,
      last_name, realm_id, username, created_timestamp)
      select ${id}, 'kc' || n || '@shop.example', 'kc' || n || '@shop.example', true, true, 'Ann' || n, 'Archer', 'r1',
        'kc' || n, 1700000000000 ${series}`);
    await client.query(
      `insert into credential (id, type, user_id, created_date, secret_data, credential_data, priority)
       select 'p' || ${id}, 'password', ${id}, 1700000000000, $1, $2, 10 ${series}`,
      [secret, data],
    );
    await client.query(
      `insert into user_attribute (id, name, value, user_id) select 'a' || ${id}, 'team', 'blue', ${id} ${series}`,
    );
    await client.query(`insert into user_role_mapping select 'role1', ${id} ${series}`);
    await client.query(`insert into user_group_membership (group_id, user_id) select 'g2', ${id} ${series}`);
  });
}

/** Runs `work` in a transaction that uses the schema. */
export async function inSchema(
  pool: Pool,
  schema: string,
  work: (client: PoolClient) => Promise<unknown>,
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`begin; set local search_path = ${schema}`);
    await work(client);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}
