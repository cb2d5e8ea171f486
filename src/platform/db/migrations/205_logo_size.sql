-- In pixels: mails must name the size of a picture. Null for pictures of before, which mails leave out.
alter table branding add column logo_width integer, add column logo_height integer;
