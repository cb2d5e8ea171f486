/**
 * The parts of the program and what they may import. `imports.test.ts` enforces it; CONTRIBUTING.md explains it.
 *
 * An exception names the reason, and ends with its way out where there is one.
 */

/** A part imports only from parts that come earlier. Each is a folder of `src`, but for the last two. */
export const PARTS = [
  ...['platform', 'passwords', 'sources', 'contract', 'messages', 'directory', 'signin', 'imports', 'operate'],
  ...['console', 'cli', 'start', 'main.ts', 'workers'],
];

/** Folders of `src/imports`: each imports only from earlier ones; the files beside them come last. */
export const STAGES = ['queue', 'entries', 'intake', 'run', 'upkeep', 'status', 'control', 'drafts', 'repair'];

/** Clients of the service: they talk to the parts that are not listed here over HTTP. */
export const CLIENTS = {
  console: ['platform', 'passwords', 'sources', 'contract'],
  cli: ['platform', 'passwords', 'sources', 'contract'],
} as const satisfies Record<string, readonly string[]>;

/** What a client imports from the service all the same: `<file> <target>`, each with its way out. */
export const CLIENT_EXCEPTIONS = [
  // GET /management/v1/me through the channel (console/api.ts).
  'src/console/session.ts src/signin/authenticate.ts',
  // The roles of the shown user in an answer of the API.
  'src/console/database.ts src/directory/members.ts',
  // POST /admin/v1/orgs/_search, or names of organizations in the answers of imports.
  'src/console/database.ts src/directory/organizations.ts',
  // A parameter `state` of GET /management/v1/password_sources.
  'src/console/database.ts src/signin/password-sources/store.ts',
  // POST /oauth/v2/revoke removes the token of a session, but also writes an event of it.
  'src/console/sign-in.ts src/signin/oauth/tokens.ts',
  // Development only: operations for the mailbox of `npm start`.
  'src/console/mailbox.ts src/messages/mail/mailbox.ts',
  'src/console/mailbox.ts src/messages/mail/read-mailbox.ts',
  // Stays: `muster keys`, `muster admin` and `muster doctor --local` run beside the server, with its settings.
  'src/cli/commands/admin.ts src/operate/known-keys.ts',
  'src/cli/commands/admin.ts src/signin/recover.ts',
  'src/cli/commands/keys.ts src/operate/key-rotation.ts',
  'src/cli/commands/keys.ts src/operate/lost-keys.ts',
  'src/cli/service/server-part.ts src/operate/known-keys.ts',
  'src/cli/doctor/local.ts src/operate/local-diagnostics.ts',
];

/** What a part names of a later one: `<file> <target>`. */
export const UPWARD = [
  // `npm start` runs workers as processes of their own.
  'src/start/muster.ts workers/all-in-one.ts',
];

/** A file with fewer lines and one importer, beside it, is a piece of that importer, unless SHORT says why not. */
export const FEWEST_LINES = 60;

export const SHORT: Record<string, string> = {
  'src/cli/commands.ts': 'the list of all commands',
  'src/cli/doctor/settings.ts': 'findings on settings; local.ts has those on this machine and its stores',
  'src/cli/main.ts': 'starts the process; run.ts is also called by tests',
  'src/imports/queue/postgres-clock.ts': 'one operation of the backend a file',
  'src/imports/queue/redis-add.ts': 'beside its Lua, one operation of the backend a file',
  'src/passwords/schemes/django-digest.ts': 'one hash scheme a file',
  'src/passwords/thread.ts': 'the code of a thread',
  'src/platform/http/attempt-counts.ts': 'the store of a package, with a guarantee of its own',
  'src/signin/password-sources/http.ts': 'one protocol a file',
  'src/start/api.ts': 'the code of a process',
  'src/start/v8-options.ts': 'read by tests that compare it with package.json',
  'workers/converter.ts': 'one duty a file',
  'workers/dispatcher.ts': 'one duty a file',
  'workers/health.ts': 'one duty a file',
  'workers/webhooks.ts': 'one duty a file',
};

/** The only folders that may import a package; packages not listed here may be used everywhere. */
export const PACKAGES: Record<string, readonly string[]> = {
  '@opentelemetry/api': ['src/operate'],
  '@opentelemetry/context-async-hooks': ['src/operate'],
  '@opentelemetry/core': ['src/operate'],
  '@opentelemetry/exporter-trace-otlp-proto': ['src/operate'],
  '@opentelemetry/resources': ['src/operate'],
  '@opentelemetry/sdk-trace': ['src/operate'],
  '@simplewebauthn/server': ['src/signin/passkeys', 'src/signin/webauthn'],
  bullmq: ['src/imports/queue', 'bench'],
  'colorjs.io': ['src/platform/html'],
  ioredis: ['src/imports/queue', 'bench', 'chaos'],
  ldapts: ['src/signin/password-sources', 'src/sources/pull'],
  marked: ['src/console/imports'],
  mysql2: ['src/sources/pull'],
  nodemailer: ['src/messages', 'bench'],
  'oidc-provider': ['src/contract', 'src/signin'],
  pg: ['src/platform/db', 'src/imports', 'src/sources/pull', 'bench'],
  '@tus/server': ['src/imports/drafts'],
  'pg-copy-streams': ['src/imports', 'bench'],
  'prom-client': ['src/platform/http', 'src/operate'],
  saxes: ['src/sources/read'],
  uqr: ['src/platform/html'],
  yauzl: ['src/sources/read'],
};
