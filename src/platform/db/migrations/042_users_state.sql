-- Lists users of all organizations in a state that few users have. Imports of active users do not touch it.
create index concurrently if not exists users_state on users (state, user_name_key, org_id) where state <> 'active';
