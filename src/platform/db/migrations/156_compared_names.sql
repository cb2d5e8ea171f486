-- Names and addresses that look equal are one: keys are compared in NFKC, without characters that nobody sees, without
-- quotes that are no part of a local part, and with the domain in Unicode (`comparedName` in
-- src/platform/text/visible.ts, which these functions repeat).
--
-- Reads the keys of all users once, and locks and changes only the users whose key becomes another one, which are few:
-- nearly all keys are as before. Nobody is lost: if several users of an organization get one key, the eldest of them keeps
-- the name as it is, and each other user gets a name of their own, `<name>~<12 hexadecimal digits>`, with an event
-- `user.username.changed` by `system`.

create function unpunycode(label text) returns text language plpgsql immutable as $$
declare
  input text := substr(label, 5);
  basic int := length(input) - position('-' in reverse(input));
  codes int[] := '{}';
  place int := 1;
  code bigint := 128;
  at bigint := 0;
  bias bigint := 72;
  old bigint;
  weight bigint;
  base bigint;
  digit bigint;
  threshold bigint;
  delta bigint;
  size bigint;
begin
  if position('-' in input) > 0 then
    codes := array(select ascii(c) from regexp_split_to_table(left(input, basic), '') c where c <> '');
    place := basic + 2;
  end if;
  while place <= length(input) loop
    old := at;
    weight := 1;
    base := 36;
    loop
      if place > length(input) then return label; end if;
      digit := ascii(substr(input, place, 1));
      digit := case when digit between 97 and 122 then digit - 97 when digit between 48 and 57 then digit - 22 end;
      if digit is null then return label; end if;
      place := place + 1;
      at := at + digit * weight;
      threshold := least(26, greatest(1, base - bias));
      exit when digit < threshold;
      weight := weight * (36 - threshold);
      base := base + 36;
    end loop;
    size := coalesce(array_length(codes, 1), 0) + 1;
    delta := case when old = 0 then (at - old) / 700 else (at - old) / 2 end;
    delta := delta + delta / size;
    bias := 0;
    while delta > 455 loop
      delta := delta / 35;
      bias := bias + 36;
    end loop;
    bias := bias + 36 * delta / (delta + 38);
    code := code + at / size;
    at := at % size;
    codes := codes[1:at] || code::int || codes[at + 1:];
    at := at + 1;
  end loop;
  return (select string_agg(chr(c), '' order by n) from unnest(codes) with ordinality as t(c, n));
exception when others then
  return label;
end
$$;

create function compared_name(old_key text) returns text language plpgsql immutable as $$
declare
  key text;
  at int;
begin
  key := regexp_replace(old_key, '[\u0001-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]', '', 'g');
  key := normalize(lower(normalize(key, NFKC)), NFKC);
  key := regexp_replace(key, '^"([^\s"\\@]+)"@', '\1@');
  if key !~ '[@.]xn--' then return key; end if;
  at := length(key) - position('@' in reverse(key)) + 1;
  if position('@' in key) = 0 then return key; end if;
  return left(key, at) || (
    select string_agg(case when label like 'xn--%' then unpunycode(label) else label end, '.' order by n)
    from unnest(string_to_array(substr(key, at + 1), '.')) with ordinality as t(label, n));
end
$$;

-- Whether a key may become another one: only ASCII without control characters, punycode and a quote surely does not.
create function may_change_156(key text) returns boolean language sql immutable as $$
  select octet_length(key) <> length(key) or key like '"%' or key like '%xn--%' or key ~ '[\x01-\x1f\x7f]'
$$;

create table changed_156 as
select * from (
  select id, org_id, sequence, created_at, named_at, addressed_at, user_name, user_name_key as old_key,
    compared_name(user_name_key) as key, email_key as old_email, compared_name(email_key) as email
  from users where may_change_156(user_name_key) or may_change_156(email_key)
) u where key <> old_key or email <> old_email;

create table renamed_156 as
select id, org_id, left(user_name, 180) || '~' || left(md5(id), 12) as user_name,
  compared_name(left(key, 180) || '~' || left(md5(id), 12)) as key
from (
  select *, row_number() over (partition by org_id, key order by created_at, sequence, id) as place from (
    select id, org_id, created_at, sequence, user_name, key from changed_156 where key <> old_key
    union all
    select u.id, u.org_id, u.created_at, u.sequence, u.user_name, u.user_name_key from users u
    where (u.user_name_key, u.org_id) in (select key, org_id from changed_156 where key <> old_key)
  ) holders
) ranked where place > 1;

-- Those who get another name first, as the eldest takes theirs.
with appended as (
  insert into events (aggregate_type, aggregate_id, resource_owner, type, editor)
  select 'user', id, org_id, 'user.username.changed', 'system' from renamed_156
  returning sequence, aggregate_id, created_at
)
update users u set user_name = r.user_name, user_name_key = r.key, sequence = a.sequence, changed_at = a.created_at
from renamed_156 r join appended a on a.aggregate_id = r.id where u.id = r.id;

update users u set user_name_key = c.key from changed_156 c
where u.id = c.id and c.key <> c.old_key and not exists (select from renamed_156 r where r.id = c.id);

update users u set email_key = c.email from changed_156 c where u.id = c.id and c.email <> c.old_email;

-- They hold their names and addresses since when they did; the triggers have said now.
update users u set
  named_at = case when r.id is null then c.named_at else u.named_at end,
  addressed_at = c.addressed_at
from changed_156 c left join renamed_156 r on r.id = c.id where u.id = c.id;

-- Users of imports that wait. Of two in one import that get one key, the second fails as a duplicate does.
update import_items set user_name_key = compared_name(user_name_key), email_key = compared_name(email_key)
where user_name_key is not null and (may_change_156(user_name_key) or may_change_156(email_key))
  and (compared_name(user_name_key), compared_name(email_key)) is distinct from (user_name_key, email_key);

drop table changed_156, renamed_156;
drop function may_change_156(text);
drop function compared_name(text);
drop function unpunycode(text);
