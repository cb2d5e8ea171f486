-- People are found by the beginning of any word of their display name. src/directory/users/search.ts has the expression.
create index concurrently if not exists users_name_words on users
using gin ((array_to_tsvector(array_remove(string_to_array(translate(lower(display_name), '-.,;:''’"()[]/\_@+&|', '                   '), ' '), ''))))
where display_name is not null;
