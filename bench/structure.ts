/**
 * `npm run structure`: how the code is cut into files, folders, functions and parts, for this checkout or another one.
 *
 *   npm run structure -- [FOLDER] [--json]
 *
 * Code is every `.ts` and `.js` of `src` and `workers`; lines are those of the files, with comments. A file has one
 * importer if one other file of `src` and `workers` names it. A function is a declaration, a method, an accessor, or a
 * function that a `const` names, from its first word to its last brace.
 *
 * One user's way is what a reader opens to follow one plain user from the request to the first log-in: the files that
 * declare what WAY reaches. From the first functions of each step on, every function, class and constant is followed that
 * the text of the one before names, in its file or by an import. Not followed are types, the first functions of other
 * steps, ASIDE, and what more than COMMON files name. A reader who chooses opens fewer: about two of three.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import {
  isArrowFunction,
  isClassDeclaration,
  isExpressionStatement,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isSetAccessorDeclaration,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast';
import { API } from 'typescript/unstable/sync';

/** The functions with which each step of one user's way begins. */
const WAY: Record<string, readonly string[]> = {
  'request to steps': ['bulkImport'],
  'steps to durable': ['receiveImport'],
  'items to worker': ['startDispatcher', 'dispatchRound'],
  'job to row': ['startImportWorker', 'processItem'],
  'row to mail': ['startMailer', 'relayOnce', 'deliverMail'],
  'first log-in': ['loginPages', 'checkLogin'],
};
const PARTS = [
  'platform',
  'passwords',
  'sources',
  'contract',
  'messages',
  'directory',
  'signin',
  'imports',
  'operate',
  'console',
  'cli',
  'start',
  'main.ts',
  'workers',
];
/** With these begins what one plain user does not pass: other bodies, options, existing users, other factors and hashes. */
const ASIDE = new Set([
  'answerDraft',
  'dropRest',
  'foreignFormat',
  'keepAsDraft',
  'NdjsonParser',
  'readDraft',
  'readPepper',
  'requireFewDrafts',
  'requireKnown',
  'sameImport',
  'signedWebhook',
  'waitForEnd',
  'addPepper',
  'bodySources',
  'keepPepper',
  'requireUsed',
  'takePepper',
  'SCHEMES',
  'dryBatch',
  'hashItem',
  'specialStores',
  'updateBatch',
  'openTextTransport',
  'openMailbox',
  'textMessage',
  'askSource',
  'checkCode',
  'checkPeppered',
  'checkSetUp',
  'choosePassword',
  'changePassword',
  'continueSignedIn',
  'continueUnchanged',
  'showChange',
  'showSetUp',
  'signInAsAnother',
]);
/** What more files than this name is known to a reader, as the pool of the database and the errors are. */
const COMMON = 5;
const LONG_FUNCTION = 40;
const IMPORT = /^(?:import|export)\s+(type\s+)?(?:([^'";]*?)\sfrom\s+)?'(\.[^']+)'/gm;
const CALL = /\bimport\(\s*'(\.[^']+)'/g;
const STARTED = /\bnew URL\(\s*'([^']+\.[jt]s)',\s*import\.meta\.url/g;

interface Edge {
  from: string;
  to: string;
}

interface Declaration {
  file: string;
  name: string;
  /** Every identifier in its text. */
  names: Set<string>;
}

const args = process.argv.slice(2).filter((arg) => arg !== '--json');
const root = resolve(args[0] ?? '.');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const files = globSync('{src,workers}/**/*.{ts,js}', { cwd: root }).map(normalize).sort();
const known = new Set(files);
const edges = files.flatMap(edgesOf);
const api = new API({ cwd: root });

function measure(): Record<string, string | number> {
  const sources = parse();
  const functions = [...sources.values()].flatMap(functionsOf).sort((a, b) => a.lines - b.lines);
  const lines = files.map((file) => ({ file, lines: linesOf(read(file)) })).sort((a, b) => a.lines - b.lines);
  const [largest, longest] = [lines.at(-1), functions.at(-1)];
  const importers = Map.groupBy(edges, ({ to }) => to);
  const single = [...importers.values()].filter((of) => new Set(of.map(({ from }) => from)).size === 1);
  const beside = single.filter(([edge]) => edge && dirname(edge.from) === dirname(edge.to));
  return {
    'code files': files.length,
    'other files (SQL, Lua, texts)': globSync('{src,workers}/**/*.*', { cwd: root }).length - files.length,
    folders: new Set(files.map((file) => dirname(file))).size,
    'lines of code files': lines.reduce((sum, one) => sum + one.lines, 0),
    'lines of a file, median': middle(lines),
    'lines of a file, most': largest ? `${largest.lines} (${largest.file})` : '–',
    functions: functions.length,
    'lines of a function, median': middle(functions),
    'lines of a function, most': longest ? `${longest.lines} (${longest.file} ${longest.name})` : '–',
    [`functions over ${LONG_FUNCTION} lines`]: functions.filter((one) => one.lines > LONG_FUNCTION).length,
    'files with one importer': single.length,
    'files with one importer, which is beside them': beside.length,
    ...ways(declarationsOf(sources)),
    'circles of files': circles(edges),
    'circles of folders inside a part': circlesOfFolders(),
    'imports of a later part': upward(),
    settings: settings(sources),
    'words in README, docs and other pages': words(),
  };
}

function linesOf(text: string): number {
  return text.split('\n').length - 1;
}

function middle(sorted: readonly { lines: number }[]): number | string {
  return sorted[Math.floor(sorted.length / 2)]?.lines ?? '–';
}

function edgesOf(file: string): Edge[] {
  const text = read(file);
  const targets = [...text.matchAll(IMPORT)].map((match) => match[3] as string);
  const others = [...text.matchAll(CALL), ...text.matchAll(STARTED)].map((match) => match[1] as string);
  return [...new Set([...targets, ...others])]
    .map((target) => ({ from: file, to: normalize(join(dirname(file), target)) }))
    .filter(({ to }) => known.has(to) && to !== file);
}

/** The syntax of every file that TypeScript reads; scripts of the browser have a project of their own. */
function parse(): Map<string, SourceFile> {
  const projects = ['tsconfig.json', 'src/console/browser/tsconfig.json'].map((file) => join(root, file));
  const found = new Map<string, SourceFile>();
  for (const openProject of projects.filter((file) => existsSync(file))) {
    const [project] = api.updateSnapshot({ openProject } as Parameters<typeof api.updateSnapshot>[0]).getProjects();
    for (const file of files) {
      const source = project?.program.getSourceFile(join(root, file));
      if (source) found.set(file, source);
    }
  }
  return found;
}

function functionsOf(source: SourceFile): { file: string; name: string; lines: number }[] {
  const found: { file: string; name: string; lines: number }[] = [];
  const file = source.fileName.slice(root.length + 1);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: Node): void => {
    const value = isVariableDeclaration(node) ? node.initializer : undefined;
    const isNamed = value && (isArrowFunction(value) || isFunctionExpression(value));
    const isFunction =
      isFunctionDeclaration(node) ||
      isMethodDeclaration(node) ||
      isGetAccessorDeclaration(node) ||
      isSetAccessorDeclaration(node);
    if (isFunction || isNamed) {
      const name = (node as { name?: Node }).name;
      const lines = lineAt(node.getEnd()) - lineAt(node.getStart(source)) + 1;
      found.push({ file, name: name && isIdentifier(name) ? name.text : '', lines });
    }
    node.forEachChild(visit);
  };
  source.forEachChild(visit);
  return found;
}

/** What each file declares at its top, by file and name. */
function declarationsOf(sources: Map<string, SourceFile>): Map<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const [file, source] of sources) {
    source.forEachChild((node) => {
      for (const name of namesOf(node)) found.set(`${file} ${name}`, { file, name, names: identifiersIn(node) });
    });
  }
  return found;
}

function namesOf(node: Node): string[] {
  if (isFunctionDeclaration(node) || isClassDeclaration(node)) return node.name ? [node.name.text] : [];
  if (isVariableStatement(node)) {
    return node.declarationList.declarations.flatMap(({ name }) => [...identifiersIn(name)]);
  }
  return isExpressionStatement(node) ? [''] : [];
}

function identifiersIn(node: Node): Set<string> {
  const found = new Set<string>();
  const visit = (child: Node): void => {
    if (isIdentifier(child)) found.add(child.text);
    child.forEachChild(visit);
  };
  visit(node);
  return found;
}

/** `{ name: the declaration }` of what a file imports by name, types apart. */
function importedBy(file: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, type, names = '', target = ''] of read(file).matchAll(IMPORT)) {
    if (type) continue;
    for (const part of names.replaceAll(/[{}]/g, ' ').split(',')) {
      const [name, alias = name] = part.trim().split(/\s+as\s+/);
      if (name && !name.startsWith('type '))
        found.set(alias as string, `${normalize(join(dirname(file), target))} ${name}`);
    }
  }
  return found;
}

function ways(declarations: Map<string, Declaration>): Record<string, string> {
  const uses = usesOf(declarations);
  const users = Map.groupBy(
    [...uses].flatMap(([user, used]) => used.map((one) => ({ user, one }))),
    ({ one }) => one,
  );
  const isCommon = (key: string) =>
    new Set(users.get(key)?.map(({ user }) => declarations.get(user)?.file)).size > COMMON;
  const steps = Object.entries(WAY).map(([step, names]) => {
    const later = new Set([...ASIDE, ...Object.values(WAY).flat()].filter((name) => !names.includes(name)));
    const first = [...declarations.keys()].filter((key) => names.includes(declarations.get(key)?.name as string));
    const follow = (key: string) => !isCommon(key) && !later.has(declarations.get(key)?.name as string);
    const found = reach(first, (key) => (uses.get(key) ?? []).filter(follow));
    return [step, new Set([...first, ...found].map((key) => declarations.get(key)?.file as string))] as const;
  });
  const declared = new Set([...declarations.values()].map(({ name }) => name));
  const missing = [...Object.values(WAY).flat(), ...ASIDE].filter((name) => !declared.has(name));
  return Object.fromEntries([
    ...steps.map(([step, of]) => [`way: ${step}`, inFolders(of)]),
    ['way: all of them, each file once', inFolders(new Set(steps.flatMap(([, of]) => [...of])))],
    ['way: names that are not declared', missing.join(', ') || 'none'],
  ]);
}

/** The declarations that the text of each declaration names. */
function usesOf(declarations: Map<string, Declaration>): Map<string, string[]> {
  const imported = new Map(files.map((file) => [file, importedBy(file)]));
  const used = ({ file, names }: Declaration) =>
    [...names].map((name) => imported.get(file)?.get(name) ?? `${file} ${name}`).filter((key) => declarations.has(key));
  return new Map([...declarations].map(([key, declaration]) => [key, used(declaration)]));
}

/** What can be reached from the first nodes; a first node only if something leads back to it. */
function reach(first: readonly string[], targetsOf: (node: string) => readonly string[]): Set<string> {
  const seen = new Set<string>();
  const next = [...first];
  for (let node = next.pop(); node !== undefined; node = next.pop()) {
    const fresh = targetsOf(node).filter((target) => !seen.has(target));
    for (const target of fresh) seen.add(target);
    next.push(...fresh);
  }
  return seen;
}

function inFolders(of: Set<string>): string {
  return of.size === 0 ? '–' : `${of.size} files in ${new Set([...of].map((file) => dirname(file))).size} folders`;
}

/** How many groups of nodes reach each other (strongly connected components of more than one). */
function circles(of: readonly Edge[]): number {
  const targets = Map.groupBy(of, ({ from }) => from);
  const targetsOf = (node: string) => (targets.get(node) ?? []).map(({ to }) => to);
  const reaches = new Map([...targets.keys()].map((node) => [node, reach([node], targetsOf)]));
  const groups = [...reaches]
    .filter(([node, seen]) => seen.has(node))
    .map(([node, seen]) => [node, ...[...seen].filter((other) => reaches.get(other)?.has(node))].sort()[0]);
  return new Set(groups).size;
}

/** `platform` of `src/platform/db/pool.ts`. */
function partOf(file: string): string {
  return file.startsWith('src/') ? (file.split('/')[1] as string) : 'workers';
}

/** A folder and the folders below it count as apart, but a registry may import the peers in a folder below it. */
function circlesOfFolders(): number {
  const folders = edges
    .filter(({ from, to }) => partOf(from) === partOf(to))
    .map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
    .filter(({ from, to }) => from !== to && !to.startsWith(`${from}/`));
  return circles(folders);
}

function upward(): number | string {
  const parts = new Set(files.map(partOf));
  if ([...parts].some((part) => !PARTS.includes(part))) return '–';
  return edges.filter(({ from, to }) => PARTS.indexOf(partOf(from)) < PARTS.indexOf(partOf(to))).length;
}

/** The keys of the object `schema` in src/platform/config.ts. */
function settings(sources: Map<string, SourceFile>): number | string {
  const config = [...sources.values()].find(({ fileName }) => /\/src\/(?:platform\/)?config\.ts$/.test(fileName));
  return new Set(config ? config.text.match(/^ {2}[A-Z][A-Z0-9_]+(?=:)/gm) : []).size || '–';
}

function words(): number {
  const pages = globSync(['*.md', 'docs/**/*.md', '{src,workers,chaos,packages,deploy}/**/*.md'], { cwd: root });
  const texts = pages.filter((page) => !page.includes('node_modules')).map((page) => read(page));
  return texts.reduce((sum, text) => sum + text.split(/\s+/).filter(Boolean).length, 0);
}

const figures = measure();
api.close();
if (process.argv.includes('--json')) console.log(JSON.stringify(figures));
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(46)} ${value}`);
