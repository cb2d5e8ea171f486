-- Who decided what a password source is, last: it verifies no user with more rights than theirs.

alter table password_sources add column set_by text collate "C";

update password_sources s set set_by = e.editor
from events e
where e.sequence = s.sequence and e.type like 'organization.password_source.%' and e.editor <> 'system';
