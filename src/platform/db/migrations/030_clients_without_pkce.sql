-- A client that authenticates with a secret may be registered without PKCE; all others need it, as before.
alter table oauth_clients
  add column pkce_required boolean not null default true,
  add constraint oauth_clients_public_pkce check (pkce_required or auth_method <> 'none');
