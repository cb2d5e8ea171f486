-- Claims that an application reads beside the standard ones, and the form of its access tokens.

alter table oauth_clients
  add column claims jsonb not null default '[]' check (jsonb_typeof(claims) = 'array'),
  add column access_token_type text not null default 'opaque' check (access_token_type in ('opaque', 'jwt'));
