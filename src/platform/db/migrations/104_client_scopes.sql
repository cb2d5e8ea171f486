-- The scopes that a client may request; null, as for all clients before: every scope.
alter table oauth_clients
  add column scopes text[] check (cardinality(scopes) > 0);
