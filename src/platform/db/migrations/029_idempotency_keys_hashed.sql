-- Idempotency keys are stored hashed, as `keyHash` of src/imports/intake/idempotency.ts computes it. Keys of the last 24
-- hours keep working.

-- Processes of the previous version still send keys as they are while the service is upgraded. They cannot find a hashed
-- key, so a request that was accepted already is refused to them as a serialization failure, which they answer with 503;
-- without this, they would import it again.
create function hash_idempotency_key() returns trigger language plpgsql as $$
begin
  if new.key ~ '^sha256:[0-9a-f]{64}$' then
    return new;
  end if;
  new.key := 'sha256:' || encode(sha256(convert_to(new.caller || E'\n' || new.path || E'\n' || new.key, 'UTF8')), 'hex');
  if exists (
    select from idempotency_keys k
    where k.caller = new.caller and k.path = new.path and k.key = new.key
      and k.created_at >= now() - interval '24 hours'
      and not exists (select from imports i
        where i.id = k.import_id and i.kind = 'single' and i.state not in ('running', 'succeeded'))
  ) then
    raise exception 'this idempotency key was used with a newer version' using errcode = 'serialization_failure';
  end if;
  return new;
end
$$;

-- Waits for the inserts in progress, so that none of them is missed below.
create trigger idempotency_keys_hashed before insert on idempotency_keys
  for each row execute function hash_idempotency_key();

update idempotency_keys
set key = 'sha256:' || encode(sha256(convert_to(caller || E'\n' || path || E'\n' || key, 'UTF8')), 'hex');
