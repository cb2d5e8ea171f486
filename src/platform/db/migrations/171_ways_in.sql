-- Whether an import mails a user of the organization for whom a mail is due: not if the login policy says
-- `unlessWayIn` and the user signs in with a password, or with a code by mail.
create function import_mails(org text, has_password boolean) returns boolean language sql stable as $$
  select p.init_mail = 'always' or not (has_password or p.mail_code <> 'off') from login_policies p
  where p.org_id = org or p.org_id is null order by p.org_id nulls last limit 1
$$;

-- The sign-in on whose page a code was asked for, where the page of its link leads back to.
alter table codes add column login text;
