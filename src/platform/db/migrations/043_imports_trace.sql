-- The trace in which the import was accepted, as the header `traceparent` (src/tracing/); null without tracing.
alter table imports add column trace_context text collate "C";
