/**
 * Pages, and comments of the code, name only what exists: files, headings, settings, functions, types and columns.
 *
 * A path may begin at the root of the project, at `src`, at `test` or at the folder of the file that names it, or be the
 * end of one path only. A comment that names a file without its folder means one beside it. A link whose text is a path
 * leads to that path.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';

interface Line {
  file: string;
  number: number;
  text: string;
}

/** Files that are not read: other people's, and records of what was. */
const UNREAD = /(?:^|\/)node_modules\/|^dist\/|^bench\/results\/|\/migrations\//;
/** About other systems: they name what those systems have. */
const FOREIGN = /^docs\/sources\/|^(?:src|test)\/sources\//;
/** Until they are written for the folders of today. */
const OUTDATED: string[] = [];

/** Paths and names that are not this project's, and where they exist. */
const ELSEWHERE: Record<string, string> = {
  'installation/sql/mysql/base.sql': 'Joomla',
  'migrations/NNN_name.sql': 'the form of a name',
  'packages/core/src/utils/password.ts': 'Logto',
  'packages/lucia/src/crypto.ts': 'Lucia',
  'packages/schemas/tables/users.sql': 'Logto',
  'phpBB/install/schemas/schema_data.sql': 'phpBB',
  'src/password.ts': 'Lucia',
  'api.ts': 'what a generator writes, in docs/clients.md',
  acr: 'a claim of OpenID Connect',
  ALLOW_USER_PASSWORD_AUTH: 'Cognito',
  appendonly: 'a setting of Redis',
  autovacuum_vacuum_cost_limit: 'a setting of PostgreSQL',
  bsdi_crypt: 'passlib',
  caching_sha2_password: 'MySQL',
  createSign: 'node:crypto',
  exists: 'a word of SQL',
  ExportTraceServiceRequest: 'OpenTelemetry',
  finally: 'a word of JavaScript',
  HttpOnly: 'an attribute of cookies',
  HTTPS_PROXY: 'a setting of Node.js',
  metrics_failed_reads_total: 'earlier versions, in the changelog',
  nodejs_active_handles: 'prom-client',
  OTEL_EXPORTER_OTLP_HEADERS: 'a setting of OpenTelemetry',
  OTEL_RESOURCE_ATTRIBUTES: 'a setting of OpenTelemetry',
  partialImport: 'Keycloak',
  PasswordEncoderFactories: 'Spring Security',
  preload: 'a directive of Strict-Transport-Security',
  QueueEvents: 'BullMQ',
  SameSite: 'an attribute of cookies',
  ADMIN_URL: 'a variable of the reader, in docs/operations.md',
  RESTORED_ADMIN_URL: 'a variable of the reader, in docs/operations.md',
  RESTORED_URL: 'a variable of the reader, in docs/operations.md',
  traceparent: 'a header of W3C Trace Context',
  web_message: 'a response mode of OAuth',
};

const ROOTS = ['src', 'workers', 'test', 'bench', 'chaos', 'demo', 'deploy', 'docs', 'packages', '.ci', '.github'];
const TEXT = /\.(?:ts|js|lua|sql|md|json|ya?ml|py|go|in|sh|example|service)$|^Dockerfile$|^\.ci\/run$/;
const files = [...globSync('*'), ...ROOTS.flatMap((root) => [root, ...globSync(`${root}/**/*`)])].map(normalize);
const known = new Set(files);
const named = Map.groupBy(files, (file) => basename(file));
const texts = new Map(
  files
    .filter((file) => !UNREAD.test(file) && TEXT.test(file) && statSync(file).isFile())
    .map((file) => [file, readFileSync(file, 'utf8').split('\n')]),
);
const lines = [...texts].flatMap(([file, text]) => text.map((line, i): Line => ({ file, number: i + 1, text: line })));
const pages = lines.filter(({ file }) => file.endsWith('.md') && !OUTDATED.includes(file));

/** The formatter puts a comment at the start of a line or after a space. */
const COMMENT = /^\s*(?:\/\*|\*|\/\/)|\s\/\/ |^\s*--/;
const isCode = (file: string) => /\.(?:ts|js|lua|sql)$/.test(file);
const comments = lines
  .filter(({ file, text }) => isCode(file) && file !== 'test/structure/names.test.ts' && COMMENT.test(text))
  .map((line) => ({ ...line, text: line.text.slice(line.text.search(COMMENT)) }));
const code = lines
  .filter(({ file }) => !file.endsWith('.md') && file !== 'test/structure/names.test.ts')
  .map((line) => (isCode(line.file) ? { ...line, text: line.text.split(COMMENT)[0] as string } : line));

/** What `find` finds in the lines, with the places. */
const located = (prose: readonly Line[], find: (line: Line) => string[]) =>
  prose.flatMap((line) => find(line).map((name) => `${line.file}:${line.number} ${name}`));

describe('paths', () => {
  const FILE =
    /(?<![\w/.:@*<>{}$…-])(?:\.{0,2}[\w-][\w.-]*\/)*(?!Node\.js|Auth\.js)[\w-][\w.-]*\.(?:ts|js|sql|lua|md|svg)\b(?![\w*-])/g;
  const FOLDER = /`((?:src|test|workers|bench|chaos|deploy|docs|packages|demo)(?:\/[\w.-]+)*\/?)`/g;
  const LINK = /\[([^\]]*)\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;
  const pathsIn = (text: string) =>
    [...text.matchAll(FILE), ...text.matchAll(FOLDER)].map(([path, folder]) => folder ?? path);

  /** Whether a file names its own folder's file, or one that its text leaves no doubt about. */
  const exists = (from: string, name: string) => {
    const path = normalize(name.replace(/\/$/, ''));
    if (path in ELSEWHERE || ['.', 'src', 'test', dirname(from)].some((folder) => known.has(join(folder, path))))
      return true;
    if (isCode(from) && !path.includes('/')) return false;
    const fitting = (named.get(basename(path)) ?? []).filter((file) => file.endsWith(`/${path}`));
    const below = fitting.filter((file) => file.startsWith(`${dirname(from)}/`));
    return fitting.length === 1 || below.length === 1;
  };

  it('in pages exist', () => {
    const found = located(pages, ({ file, text }) =>
      pathsIn(text.replaceAll(LINK, '')).filter((path) => !exists(file, path)),
    );
    assert.deepEqual(found, []);
  });

  it('in comments exist', () => {
    const found = located(comments, ({ file, text }) => pathsIn(text).filter((path) => !exists(file, path)));
    assert.deepEqual(found, []);
  });

  it('of links exist, with their headings, under their names', () => {
    const found = located(pages, ({ file, text }) =>
      [...text.matchAll(LINK)]
        .filter(([, name = '', path, heading]) => {
          const target = path ? join(dirname(file), path).replace(/\/$/, '') : file;
          const isThere = known.has(target) && (!heading || headingsOf(target).includes(heading));
          return !isThere || pathsIn(name).some((one) => !target.endsWith(one));
        })
        .map(([link]) => link),
    );
    assert.deepEqual(found, []);
  });
});

/** As GitHub makes them. */
function headingsOf(page: string): string[] {
  const titles = (texts.get(page) ?? []).flatMap((line) => /^#+ (.+)$/.exec(line)?.[1] ?? []);
  return titles.map((title) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('names of the code', () => {
  const QUOTED = /`(\w+)(?:\(\))?`/g;
  /** Code in backticks, and the functions that it calls. */
  const SPAN = /`[^`]+`/g;
  const CALLED = /\b(\w+)\(/g;
  /** camelCase, PascalCase, UPPER_CASE, snake_case: in prose, only names of code look like this. */
  const LOOKS_LIKE_CODE =
    /^(?:[a-z]+\d*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z_][a-z0-9]*_[a-z0-9_]+)$/;
  const DECLARED = /(?<=['"`])\w+(?=['"`])|(?<=\b(?:function\*?|const|class|type|interface) )\w+/g;
  const wordsOf = (some: readonly Line[], form = /\w+/g) => new Set(some.flatMap(({ text }) => text.match(form) ?? []));
  const words = wordsOf(code);
  const declared = wordsOf(code, DECLARED);
  const wordsOfFile = new Map([...Map.groupBy(code, ({ file }) => file)].map(([file, of]) => [file, wordsOf(of)]));
  const namesIn = (text: string) => {
    const calls = [...text.matchAll(SPAN)].flatMap(([span]) => [...span.matchAll(CALLED)]);
    const found = [...text.matchAll(QUOTED), ...calls].map(([, name]) => name as string);
    return found.filter((name) => !(name in ELSEWHERE));
  };
  const isOurs = ({ file }: Line) => !FOREIGN.test(file);

  it('in pages occur in the code', () => {
    const found = located(pages.filter(isOurs), ({ text }) =>
      namesIn(text).filter((name) => LOOKS_LIKE_CODE.test(name) && !words.has(name)),
    );
    assert.deepEqual(found, []);
  });

  it('in comments occur in the code; short ones, such as parameters, in the file', () => {
    const found = located(comments.filter(isOurs), ({ file, text }) =>
      namesIn(text).filter((name) =>
        LOOKS_LIKE_CODE.test(name)
          ? !words.has(name)
          : /^[a-z]\w+$/.test(name) && !wordsOfFile.get(file)?.has(name) && !declared.has(name),
      ),
    );
    assert.deepEqual(found, []);
  });
});

it('what is excepted is named', () => {
  const all = [...pages, ...comments].map(({ text }) => text).join('\n');
  assert.deepEqual(
    Object.keys(ELSEWHERE).filter((name) => !all.includes(name)),
    [],
  );
});
