-- The device flow (RFC 8628): the code that a person types finds the device code, which only the device knows. Of either
-- only a SHA-256 is kept.
alter table oauth_models add column user_code_hash bytea;
create unique index oauth_models_user_code on oauth_models (user_code_hash) where user_code_hash is not null;
