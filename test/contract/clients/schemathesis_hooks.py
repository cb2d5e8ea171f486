"""Lets Schemathesis send the lines of a bulk import as text."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
