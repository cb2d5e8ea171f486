/**
 * Statements over Keycloak's tables, as its Liquibase change sets create them (Keycloak 8 and later).
 * https://github.com/keycloak/keycloak/tree/main/model/jpa/src/main/resources/META-INF
 */

export const REALM = 'select id, name from realm where name = $1';

/** Groups of organizations (type 1) are no groups of the realm. */
export const GROUPS = `
  select id, name, parent_group as parent
  from keycloak_group g
  where realm_id = $1 and to_jsonb(g) ->> 'type' is distinct from '1'`;

/**
 * A page of users. The subqueries find their rows by the indexes on user_id.
 * `long_value` exists since Keycloak 24; read as JSON, a column that is not there is null.
 */
export const USERS = `
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
