-- Users who came only by a connection of their company, and whom an import leaves out of mail codes.
alter table imports add column enterprise_mail_codes boolean not null default true;

-- No code by mail signs the user in, and no mail that they or a stranger can ask for gives them a password.
alter table users add column without_mail_codes boolean not null default false;
