-- As `users_name_words`, but most names have only spaces between their words, and `translate` compares each letter with
-- each sign: 13,500 of the instructions that writing a user takes. src/directory/users/search.ts has the expression.
create index concurrently if not exists users_words on users
using gin ((case when display_name collate "C" ~ '(^| )( |$)|[-.,;:''’"()\[\]/\\_@+&|]'
  then array_to_tsvector(array_remove(string_to_array(translate(lower(display_name), '-.,;:''’"()[]/\_@+&|', '                   '), ' '), ''))
  else array_to_tsvector(string_to_array(lower(display_name), ' ')) end))
where display_name is not null;
