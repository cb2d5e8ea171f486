-- Unused since 017; no released version uses it.
drop table login_failures;
