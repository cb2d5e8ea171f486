-- Origins to which the links of emails may lead, besides those that every organization may use.
alter table organizations add column allowed_urls text[] not null default '{}';
