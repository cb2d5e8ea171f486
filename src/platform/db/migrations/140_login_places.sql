-- Where and when a login was last used, for the person whose login it is; null for logins from before.
alter table oauth_models add column address text, add column user_agent text, add column used_at timestamptz;
-- The address that the program named for the person, and the user id of the program.
alter table sessions add column address text, add column opened_by text collate "C";
