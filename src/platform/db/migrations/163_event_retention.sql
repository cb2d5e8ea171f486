-- How far old rows have been removed from tables that have no index on their time, by their ascending key.

create table retention_cursors (
  name text primary key,
  after bigint not null
);

insert into retention_cursors (name, after) values ('events', 0), ('admin events', 0);
