-- Run once by the PostgreSQL image, as its superuser, when the volume is empty. Muster gets a role that owns its database
-- and nothing else: whoever gains its password cannot read files, run programs, or create roles, as a superuser can.

\set ON_ERROR_STOP on
\getenv password MUSTER_PASSWORD

create role muster login password :'password' nosuperuser nocreatedb nocreaterole noreplication nobypassrls;
-- Of a cluster with another encoding, template1 would pass it on.
create database muster owner muster encoding 'UTF8' template template0;

-- By default every role may connect to every database, and create temporary tables there.
revoke all on database muster, postgres, template1 from public;
