-- Sessions in which a program proved by an external provider who the user is.

alter table sessions add column intent_verified_at timestamptz;
