/**
 * Which folder may import which. `imports.test.ts` enforces it.
 *
 * A row lists everything that its folder imports from other folders, and may list earlier rows only: imports run
 * downwards, without circles. A path with a file name allows that file alone. To allow an import, add it here and give
 * the reason in the commit message.
 */

/** Files directly in `src` that any folder may import. */
export const BASE = [
  'condition.ts',
  'config.ts',
  'errors.ts',
  'freeze.ts',
  'html.ts',
  'ids.ts',
  'timeout.ts',
  'lifecycle.ts',
  'logger.ts',
  'observations.ts',
  'redis-urls.ts',
  'repeats.ts',
  'request-context.ts',
  'secrets.ts',
  'spans.ts',
  'start-error.ts',
];

/** From the bottom up. In addition, every folder may import BASE. */
export const LAYERS: Record<string, readonly string[]> = {
  'src/fields': [],
  // Reads text of any size in chunks.
  'src/streaming': [],
  // Arithmetic: no store and no feature.
  'src/passwords': [],
  'src/db': [],
  // The stores and HTTP serve every feature and depend on none.
  'src/queue': ['src/db'],
  'src/http': ['src/db', 'src/fields', 'src/streaming'],
  'src/mail': ['src/db'],
  'src/access': ['src/db', 'src/fields', 'src/http'],
  // Reads and deletes the events that `src/db` writes.
  'src/audit': ['src/access', 'src/db', 'src/fields', 'src/http', 'src/streaming'],
  'src/users': ['src/access', 'src/db', 'src/fields', 'src/http', 'src/mail', 'src/passwords'],
  'src/orgs': ['src/access', 'src/db', 'src/fields', 'src/http'],
  'src/policies': ['src/access', 'src/db', 'src/fields', 'src/http', 'src/orgs'],
  'src/webhooks': ['src/access', 'src/db', 'src/fields', 'src/orgs'],
  // Verifies passwords at other systems.
  'src/password-sources': [
    ...['src/access', 'src/db', 'src/fields', 'src/http', 'src/orgs', 'src/passwords', 'src/users', 'src/webhooks'],
  ],
  // Markup only.
  'src/pages': ['src/http'],
  'src/identity': [
    ...['src/access', 'src/audit', 'src/db', 'src/fields', 'src/http', 'src/orgs', 'src/pages', 'src/passwords'],
    ...['src/password-sources', 'src/policies', 'src/users'],
  ],
  'src/accounts': [
    ...['src/access', 'src/audit', 'src/db', 'src/fields', 'src/http', 'src/identity', 'src/mail', 'src/orgs'],
    ...['src/pages', 'src/passwords', 'src/policies', 'src/users'],
  ],
  // Converts the records of other systems to users: it imports only the parsers of hashes, fields and text.
  'src/sources': ['src/fields', 'src/identity/totp/secret.ts', 'src/passwords', 'src/streaming'],
  'src/imports': [
    ...['src/access', 'src/db', 'src/fields', 'src/http', 'src/identity', 'src/mail', 'src/orgs'],
    ...['src/password-sources', 'src/passwords', 'src/queue', 'src/sources', 'src/streaming'],
    ...['src/users', 'src/webhooks'],
  ],
  'src/diagnostics': ['src/access', 'src/db', 'src/http', 'src/identity', 'src/imports', 'src/mail', 'src/queue'],
  // Concludes from facts; no store and no terminal.
  'src/findings': ['src/diagnostics'],
  'src/metrics': ['src/audit', 'src/db', 'src/diagnostics', 'src/http', 'src/mail', 'src/queue'],
  // Processes import open.ts only, which loads the rest if tracing is configured.
  'src/tracing': ['src/db', 'src/http'],
  'src/openapi': [
    ...['src/access', 'src/accounts', 'src/audit', 'src/fields', 'src/http', 'src/identity', 'src/imports'],
    ...['src/orgs', 'src/password-sources', 'src/passwords/pepper-modes.ts', 'src/policies', 'src/users'],
  ],
  // Replaces the encryption key of whatever is stored encrypted.
  'src/encryption': [
    ...['src/db', 'src/identity', 'src/imports', 'src/password-sources', 'src/passwords/pepper.ts', 'src/webhooks'],
  ],
  // Pages for people. It reads and changes data through the API, like every other client.
  'src/console': [
    ...['src/access', 'src/db', 'src/diagnostics', 'src/findings', 'src/http', 'src/identity'],
    ...[
      'src/imports/answers.ts',
      'src/imports/duration.ts',
      'src/imports/fix/cause.ts',
      'src/mail/mailbox',
      'src/orgs',
    ],
    // The sources that an import can use.
    'src/password-sources/store.ts',
    // An example of a user is made by the converter that reads the whole file.
    ...['src/pages', 'src/passwords/pepper-modes.ts', 'src/sources'],
  ],
  'src/app.ts': [
    ...[
      'src/accounts',
      'src/audit',
      'src/console',
      'src/db',
      'src/diagnostics',
      'src/http',
      'src/identity',
      'src/imports',
    ],
    ...['src/openapi', 'src/orgs', 'src/pages', 'src/password-sources', 'src/passwords', 'src/policies', 'src/queue'],
    ...['src/webhooks'],
  ],
  'src/start': [
    ...['src/app.ts', 'src/db', 'src/http', 'src/identity', 'src/imports', 'src/mail', 'src/metrics', 'src/passwords'],
    ...['src/queue', 'src/tracing/open.ts'],
  ],
  'src/api.ts': ['src/start'],
  'src/migrate.ts': ['src/start'],
  'src/main.ts': ['src/start'],
  // Reads users from running systems, as the records that the sources convert.
  'src/pull': ['src/sources'],
  // A client of the service, over HTTP like every other client.
  'src/cli': [
    ...['src/diagnostics', 'src/encryption', 'src/findings', 'src/identity/oauth/cli-client.ts'],
    ...['src/imports/answers.ts', 'src/passwords/pepper-modes.ts', 'src/pull', 'src/sources'],
  ],
  workers: [
    ...['src/accounts', 'src/audit', 'src/console/sign-in', 'src/db', 'src/http', 'src/identity', 'src/imports'],
    ...[
      'src/mail',
      'src/metrics',
      'src/password-sources',
      'src/passwords',
      'src/queue',
      'src/start',
      'src/tracing/open.ts',
    ],
    ...['src/webhooks'],
  ],
  demo: ['src/cli', 'src/start'],
  bench: ['src/console/sign-in', 'src/db', 'src/imports', 'src/mail', 'src/passwords', 'src/queue', 'src/start'],
  // In addition, it uses the processes, stores and helpers of test/support.
  chaos: ['bench/command.ts', 'bench/options.ts', 'bench/scope.ts', 'bench/testbed', 'src/db', 'src/queue'],
};

/** The order inside folders with stages: each stage imports from earlier stages only. */
export const STAGES: Record<string, readonly string[]> = {
  'src/imports': [
    ...[
      'answers.ts',
      'duration.ts',
      'ended.ts',
      'items.ts',
      'item-states.ts',
      'query.ts',
      'seals.ts',
      'job.ts',
      'batch-items.ts',
      'failures.ts',
    ],
    ...['validate', 'options.ts', 'parse', 'run', 'deps.ts', 'intake', 'maintenance', 'status', 'single', 'control'],
    ...['draft', 'report', 'fix', 'http', 'routes.ts'],
  ],
  'src/cli': [
    ...['terminal', 'service', 'end.ts', 'expires.ts', 'since.ts', 'options.ts', 'subcommands.ts', 'login', 'imports'],
    ...['import', 'pull', 'download.ts', 'doctor', 'commands', 'commands.ts', 'run.ts', 'main.ts', 'muster.js'],
  ],
};

/** The only folders that may import a package; packages not listed here may be used everywhere. */
export const PACKAGES: Record<string, readonly string[]> = {
  '@opentelemetry/api': ['src/tracing'],
  '@opentelemetry/context-async-hooks': ['src/tracing'],
  '@opentelemetry/core': ['src/tracing'],
  '@opentelemetry/exporter-trace-otlp-proto': ['src/tracing'],
  '@opentelemetry/resources': ['src/tracing'],
  '@opentelemetry/sdk-trace': ['src/tracing'],
  bullmq: ['src/queue', 'bench'],
  ioredis: ['src/queue', 'bench', 'chaos'],
  ldapts: ['src/password-sources', 'src/pull'],
  mysql2: ['src/pull'],
  nodemailer: ['src/mail', 'bench'],
  'oidc-provider': ['src/identity', 'src/accounts'],
  pg: ['src/db', 'src/queue', 'src/imports', 'src/pull', 'bench'],
  '@tus/server': ['src/imports/draft'],
  'pg-copy-streams': ['src/imports', 'bench'],
  'prom-client': ['src/http', 'src/metrics'],
};

/** The largest number of files in a folder. */
export const MOST_FILES = 20;

/** Folders of uniform peers, one file each under one registry, in which files are easy to find by name. */
export const PEERS = ['src/db/migrations', 'docs/sources'];
