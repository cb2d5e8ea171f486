/** The command line without a service: help, wrong usage, completion, nothing at the URL, missing permissions. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { COMMANDS } from '../../src/cli/commands.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import { startApi } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';
import { MUSTER, runShell, startMuster } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

const execFileAsync = promisify(execFile);

/** Help, the version and completions are printed to the output of the process. */
const printed = (args: readonly string[]) => startMuster(args).finished;

const NAMES = COMMANDS.map(({ command }) => String(command).split(' ')[0] as string);

test('help lists every command, and every command has real examples', async () => {
  const { code, stdout, stderr } = await printed(['--help']);
  assert.deepEqual([code, stderr], [0, '']);
  for (const name of NAMES) assert.match(stdout, new RegExp(`^ {2}muster ${name} `, 'm'));
  const helps = await Promise.all(NAMES.map((name) => printed([name, '--help'])));
  for (const [i, help] of helps.entries()) {
    assert.equal(help.code, 0);
    // A group lists its subcommands; each of those has its own examples.
    if (help.stdout.includes('\nCommands:\n')) continue;
    assert.match(help.stdout, new RegExp(`\nExamples:\n {2}(?:\\w+ .*\\| )?muster ${NAMES[i]}`), help.stdout);
  }
});

/** Prints the packages that the help loads, one a line, on standard error. */
const TRACED = `
import { registerHooks } from 'node:module';
const names = new Set();
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? [];
    if (name) names.add(name);
    return found;
  },
});
process.on('exit', () => process.stderr.write([...names].join('\\n')));
await import(process.argv[1]);`;

test('it starts without the packages of the server, and without what only some commands need', async () => {
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '--eval',
    TRACED,
    '--',
    MUSTER,
    '--help',
  ];
  const { stdout, stderr } = await execFileAsync(process.execPath, args);
  assert.match(stdout, /muster import /);
  const loaded = stderr.split('\n');
  assert.ok(loaded.includes('yargs'), stderr);
  for (const name of ['zod', 'express', 'pg', 'openid-client', 'bcryptjs']) assert.ok(!loaded.includes(name), name);
});

test('without a command it lists the commands, and --version prints the version', async () => {
  const nothing = await printed([]);
  assert.deepEqual([nothing.code, nothing.stdout], [2, '']);
  assert.match(nothing.stderr, /Commands:\n/);
  assert.match((await printed(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
});

test('without its packages it says how to install them', async (t) => {
  if (!requireOrSkip(t, 'bash')) return;
  const folder = await mkdtemp(join(tmpdir(), 'muster-bare-'));
  t.after(() => rm(folder, { recursive: true }));
  await cp(dirname(MUSTER), join(folder, 'src', 'cli'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const { code, stdout, stderr } = await runShell(`${process.execPath} src/cli/muster.js status`, { cwd: folder });
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(stderr, /run `npm ci` in /);
});

test('wrong usage is exit code 2, with what is wrong and which help to read, and sends nothing', async () => {
  for (const [args, said, advice] of [
    [['statsu'], /Unknown command "statsu"\. Did you mean status\?/, 'muster --help'],
    [['status', '17', '--wach'], /Unknown option or argument: wach/, 'muster status --help'],
    [['status', 'x'], /"x" is not the number of an import/, 'muster status --help'],
    [
      ['--url', 'http://127.0.0.1:1', 'status', '--wach'],
      /^(muster: )?Unknown option or argument: wach/,
      'muster status --help',
    ],
    [['pause'], /An argument is missing: 0 given, 1 needed\./, 'muster pause --help'],
    [['pause', '1', '2'], /Unknown option or argument: 2/, 'muster pause --help'],
    [['items', '1', '--state', 'gone'], /--state is "gone"; it must be one of "pending"/, 'muster items --help'],
    [['items', '1', '--limit', '0'], /--limit must be/, 'muster items --help'],
    [
      ['report', '1', '--format', 'xml'],
      /--format is "xml"; it must be one of "ndjson", "csv", "dataorgs"\./,
      'muster report --help',
    ],
  ] as const) {
    // If anything were sent, this URL would cause another exit code.
    const { code, stdout, stderr } = await runMuster(args, { env: { MUSTER_URL: 'http://127.0.0.1:1' } });
    assert.deepEqual([code, stdout], [2, ''], stderr);
    assert.match(stderr, said);
    assert.ok(stderr.includes(advice), stderr);
    const { error } = JSON.parse((await runMuster([...args, '--json'])).stderr);
    assert.equal(error.exitCode, 2);
    assert.match(error.message, said);
  }
});

test('commands, options and their values are completed', async () => {
  const complete = async (...words: string[]) =>
    (await printed(['--get-yargs-completions', 'muster', ...words])).stdout.trimEnd().split('\n');
  assert.deepEqual(await complete(''), [...NAMES, 'completion']);
  assert.ok((await complete('status', '17', '--')).includes('--watch'));
  assert.deepEqual(await complete('items', '17', '--state', 'f'), ['failed']);
  assert.deepEqual(await complete('report', '17', '--format', ''), ['ndjson', 'csv', 'dataorgs']);
  const sources = SOURCES.map(({ name }) => name);
  assert.ok(sources.length > 0);
  assert.deepEqual(await complete('import', 'users.json', '--from', ''), sources);
  assert.deepEqual(await complete('import', ''), [''], 'the shell completes file names');
});

test('the script for bash completes in bash', async (t) => {
  if (!requireOrSkip(t, 'bash')) return;
  const line = `eval "$(muster completion)"; COMP_WORDS=(muster items 17 --state t); COMP_CWORD=4; _muster_yargs_completions; echo "\${COMPREPLY[*]}"`;
  assert.deepEqual(await runShell(line), { code: 0, stdout: 'timed-out\n', stderr: '' });
});

test('an unreachable service is exit code 5, with what to check', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  await once(server, 'close');
  const env = { MUSTER_URL: url, MUSTER_TOKEN: 'not-a-token' };
  const { code, stdout, stderr } = await runMuster(['status', '17', '--watch'], { env });
  assert.deepEqual([code, stdout], [5, '']);
  assert.ok(stderr.startsWith(`muster: ${url} cannot be reached: connect ECONNREFUSED`), stderr);
  assert.match(stderr, /muster doctor/);
  const { error } = JSON.parse((await runMuster(['status', '--json'], { env })).stderr);
  assert.deepEqual(Object.keys(error).sort(), ['advice', 'exitCode', 'message']);
  assert.equal(error.exitCode, 5);
});

test('another server at the URL is recognized as such', async (t) => {
  const server = createServer((req, res) => {
    if (req.url?.startsWith('/admin/v1/imports/1')) res.end('<html>Welcome</html>');
    else res.writeHead(404).end('<html>Not here</html>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const args of [['status'], ['status', '1']]) {
    const { code, stderr } = await runMuster([...args, '--url', `${url}/`], { env: { MUSTER_TOKEN: 'not-a-token' } });
    assert.equal(code, 5);
    assert.ok(stderr.startsWith(`muster: The server at ${url} is not Muster.\n`), stderr);
  }
});

test('what a proxy refuses is not taken for another server', async (t) => {
  const server = createServer((_req, res) => void res.writeHead(413).end('<html>413 Request Entity Too Large</html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await runMuster(['status', '--url', url], { env: { MUSTER_TOKEN: 'not-a-token' } });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /A proxy or firewall before \S+ answered 413: the body is too large for it\.\n.*client_max_body_size/,
  );
  assert.doesNotMatch(stderr, /is not Muster/);
});

test('a missing permission is exit code 4, with what to do', async (t) => {
  const api = await startApi();
  t.after(api.stop);
  const [{ orgId }, other] = await Promise.all([api.setupOrg(), api.setupOrg()]);
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const run = (MUSTER_TOKEN: string | undefined, ...args: string[]) =>
    runMuster(args, { env: { MUSTER_URL: api.url, MUSTER_TOKEN } });

  const nobody = await run(undefined, 'status');
  assert.equal(nobody.code, 4);
  assert.match(nobody.stderr, /^muster: You are not logged in at http.*\n.*muster login.*MUSTER_TOKEN/);
  const wrong = await run('wrong', 'status');
  assert.equal(wrong.code, 4);
  assert.match(wrong.stderr, /muster login/);
  const body = { dataOrgs: { orgs: [{ orgId: other.orgId, humanUsers: [null] }] }, timeout: '1m' };
  const { importId } = (await api.call('POST', '/admin/v1/import', body)).body;
  const foreign = await run(token, 'cancel', importId);
  assert.equal(foreign.code, 4);
  assert.match(foreign.stderr, /who has the role.*`muster explain AUTH-PERMISSION` says more\.\n/);
  assert.match((await run(token, 'status')).stdout, /There is no import yet/);
  const missing = await run(api.token, 'status', '999');
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /\(IMPORT-NOT-FOUND\)\n {2}`muster status` lists/);
  for (const { stderr } of [wrong, foreign]) assert.ok(!stderr.includes(token) && !stderr.includes('wrong'), stderr);
});

test('an error shows its stack trace only with MUSTER_DEBUG', async () => {
  const env = { MUSTER_URL: 'no address' };
  const short = await runMuster(['status'], { env });
  assert.equal(short.code, 2);
  assert.doesNotMatch(short.stderr, /\n\s+at /);
  assert.match((await runMuster(['status'], { env: { ...env, MUSTER_DEBUG: '1' } })).stderr, /\n\s+at /);
});

test('an error of the service shows what its remedy says, and how long to wait in words', async (t) => {
  const answers = [
    [429, 'UPLOAD-SPACE', 'Discard a draft that is not needed.'],
    [429, 'IMPORT-RUNNING', 'cancel one.'],
    [429, 'IMPORT-DRAFTS', 'Start or discard a draft.'],
    [429, 'RATE-LIMIT', 'Wait for 1 second, then try again.'],
    [401, 'AUTH-SCOPE', 'Request the scope `urn:service:iam:org:project:id:service:aud`'],
    [401, 'AUTH-TOKEN', 'Run `muster login`'],
    [409, 'NEWER-ID', 'Try again in 1 second.'],
  ] as const;
  let next: (typeof answers)[number] = answers[0];
  const server = createServer((_req, res) => {
    const [status, id] = next;
    res.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
    res.end(JSON.stringify({ code: 8, message: 'No.', details: [{ id, message: 'No.' }] }));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (next of answers) {
    const { stderr } = await runMuster(['workers'], { env: { MUSTER_URL: url, MUSTER_TOKEN: 'x' } });
    const [, id, remedy] = next;
    assert.ok(stderr.startsWith(`muster: No. (${id})\n`) && stderr.includes(remedy), stderr);
    const isExplained = !['AUTH-TOKEN', 'NEWER-ID'].includes(id);
    assert.equal(stderr.includes(`\`muster explain ${id}\``), isExplained, stderr);
  }
});

test('explain says what an id means and which operations answer it, and knows near misses', async () => {
  const run = (...args: string[]) => runMuster(['explain', ...args], { env: { MUSTER_URL: 'http://127.0.0.1:1' } });
  const space = await run('upload-space');
  assert.equal(space.code, 0, space.stderr);
  assert.match(space.stdout, /^UPLOAD-SPACE: 429 RESOURCE_EXHAUSTED\n {2}The files .*\n {2}Discard /);
  assert.match(space.stdout, /\nAnswered by:\n {2}createImportFile: POST \/admin\/v1\/imports/);
  const timeout = JSON.parse((await run('IMPORT-TIMEOUT', '--json')).stdout);
  assert.deepEqual(
    timeout.cases.map(({ httpStatus }: { httpStatus: number }) => httpStatus),
    [400, 504],
  );
  assert.equal(timeout.since, '1.0.0');
  assert.match((await run('AUTH-TOKEN')).stdout, /Answered by any operation\./);
  assert.match((await run('IMPORT-IAM-OWNER')).stdout, /Stored with a user of an import\./);
  for (const [given, meant] of [
    ['UPLOAD-SPCE', 'UPLOAD-SPACE'],
    ['last-owner', 'MEMBER-LAST-OWNER'],
    ['IMPORT-RUNING', 'IMPORT-RUNNING'],
  ] as const) {
    const { code, stderr } = await run(given);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`There is no error ${given}\\.\n {2}Did you mean .*${meant}`));
  }
  assert.match((await run('constructor')).stderr, /docs\/errors\.md lists every id/);
});
