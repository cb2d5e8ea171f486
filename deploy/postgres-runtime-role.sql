-- Optional: a role for the API and the workers that may not change the schema. Run it in the database muster as a
-- superuser, after "npm run migrate", and again after each upgrade that adds a table. DATABASE_URL of "npm run migrate"
-- keeps the role muster, which owns the database; all other processes get muster_runtime.

\set ON_ERROR_STOP on
\getenv password MUSTER_RUNTIME_PASSWORD

select not exists (select from pg_roles where rolname = 'muster_runtime') as is_new \gset
\if :is_new
create role muster_runtime login nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
\endif
alter role muster_runtime password :'password';

grant connect on database muster to muster_runtime;
grant usage on schema public, bullmq to muster_runtime;
grant select, insert, update, delete on all tables in schema public, bullmq to muster_runtime;
grant usage, select, update on all sequences in schema public, bullmq to muster_runtime;
grant execute on all functions in schema public, bullmq to muster_runtime;

-- What the role muster adds by later migrations.
alter default privileges for role muster in schema public, bullmq
  grant select, insert, update, delete on tables to muster_runtime;
alter default privileges for role muster in schema public, bullmq
  grant usage, select, update on sequences to muster_runtime;
