/** `muster import` and `convert`: the summary before anything is imported, what is refused, and broken connections. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { type Finished, runMuster } from '../support/processes/muster.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { openTerminal, runShell } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

const HASH = '$2b$04$9vWpNCdy8s6A4f6dGKf0kObCK.r6uuK6VNq.Qqh62OG1jc5nkdhsO';
const AUTH0 = fileURLToPath(new URL('../fixtures/sources/auth0/', import.meta.url));

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'muster-import-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

let lines = 0;

/** A line of Auth0's export; ids are unique in the instance, so each line has its own. */
function line(n: number, more: object = {}): string {
  const id = `auth0|${n}-${++lines}`;
  const names = { given_name: 'Ann', family_name: 'Archer' };
  return JSON.stringify({ user_id: id, email: `u${n}@example.com`, email_verified: true, ...names, ...more });
}

async function usersFile(t: TestContext, lines: string[]): Promise<string> {
  const path = join(await folder(t), 'users.ndjson');
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

interface Stage {
  service: Service;
  orgId: string;
  env: Record<string, string>;
  muster(args: string[], input?: string | Uint8Array): Promise<Finished>;
  /** The number of imports into the organization that the service has accepted; drafts and checks are none. */
  imports(): Promise<number>;
}

/** A stage with an organization of its own. */
async function stage(service: Service): Promise<Stage> {
  const { orgId, ownerToken } = await service.newOrg();
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken };
  return {
    service,
    orgId,
    env,
    muster: (args, input) => runMuster(args, { env, ...(input === undefined ? {} : { input }) }),
    imports: async () =>
      (await must(service.call('GET', '/admin/v1/imports', undefined, { token: ownerToken }))).body.imports.filter(
        (one: { dryRun: boolean; draft?: unknown }) => !one.dryRun && !one.draft,
      ).length,
  };
}

type Scene = (t: TestContext, stage: Stage) => Promise<void>;
const SCENES: [name: string, scene: Scene][] = [];
const scene = (name: string, run: Scene) => void SCENES.push([name, run]);

scene('a pepper comes from the environment, and its users log in', async (t, { env, orgId, service, imports }) => {
  // Made by libxcrypt of "correct horse" and "a pepper of the shöp".
  const password_hash = '$2b$04$abcdefghijklmnopqrstuu.kQv/P7qe9hj9n4VXXGiB6LKdwQKpP.';
  const path = await usersFile(t, [line(7, { password_hash, email: 'pepper@example.com' })]);
  const args = ['import', path, '--from', 'auth0', '--org', orgId, '--yes', '--pepper-mode', 'suffix'];
  for (const more of [['--pepper-env', 'NO_SUCH'], []]) {
    const refused = await runMuster([...args, ...more], { env });
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /is empty\./);
  }
  assert.equal(await imports(), 0);
  const given = { ...env, SHOP_PEPPER: 'a pepper of the shöp' };
  const done = await runMuster([...args, '--pepper-env', 'SHOP_PEPPER', '--watch'], { env: given });
  assert.equal(done.code, 0, done.stderr);
  const checks = { user: { loginName: 'pepper@example.com' }, password: { password: 'correct horse' } };
  assert.equal((await service.call('POST', '/v2beta/sessions', { checks })).status, 201);
});

scene(
  'a dry run ends in a summary that names every kind of problem with its line',
  async (t, { muster, orgId, service }) => {
    const path = await usersFile(t, [
      line(1, { password_hash: HASH }),
      line(2, { email_verified: undefined, password_hash: HASH }),
      '',
      line(3, { blocked: true }),
      line(4, { password_hash: '$argon2$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA' }),
      line(5, { email: 'no address' }),
      line(6, { email: 'U1@example.com' }),
      line(7, { email: undefined, phone_number: '044 668 18 00' }),
    ]);
    const { code, stdout, stderr } = await muster(['import', path, '--from', 'auth0', '--org', orgId, '--dry-run']);
    assert.equal(code, 3, stderr);
    for (const pattern of [
      /^7 users, including 1 inactive$/m,
      new RegExp(`^ +7 {2}${orgId}$`, 'm'),
      /^ +2 {2}bcrypt: will verify$/m,
      /^ +1 {2}\$argon2\$: will NOT verify, so these users will fail: argon2 is not supported .*line 5\)$/m,
      /^ +4 {2}none$/m,
      /^ +1 {2}The user has no email address\. \(.*line 8\)$/m,
      /^ +1 {2}to verify an address$/m,
      /^ +2 {2}to set a password$/m,
      /^ +1 {2}The export does not say whether the address is verified.*line 2\)$/m,
      /^ +1 {2}The phone number is not in E\.164 form.*line 8\)$/m,
    ]) {
      assert.match(stderr, pattern);
    }
    for (const pattern of [
      /completed with errors \(dry run: nothing was written\)/,
      /^ +1 {2}user\.hashedPassword\.value: argon2 is not supported .*line 5\)$/m,
      /^ +1 {2}user\.email\.email: must be an email address .*line 6\)$/m,
      /^ +1 {2}.*user name.*line 7\)$/m,
      /^ +1 {2}user\.email\.email: is required .*line 8\)$/m,
    ]) {
      assert.match(stdout, pattern);
    }
    const { rows } = await service.pool.query(
      "select count(*)::int as n from users where org_id = $1 and id like 'auth0|%'",
      [orgId],
    );
    assert.equal(rows[0].n, 0);
  },
);

scene('a dry run shows the mails as people get them, and writes them to files', async (t, { muster, orgId }) => {
  const path = await usersFile(t, [line(1), line(2, { email_verified: false, password_hash: HASH })]);
  const args = ['import', path, '--from', 'auth0', '--org', orgId, '--dry-run'];
  const shown = (await muster(args)).stdout;
  assert.match(shown, /^ {2}Mails that would be sent, as people get them$/m);
  assert.match(shown, /^ +1 {2}en {2}.*: Confirm your email address\n +\| Hello,$/m);
  assert.match(shown, /^ +1 {2}en {2}.*: Set up your account\n +\| Hello,$/m);
  const previews = join(path, '..', 'previews');
  const written = (await muster([...args, '--mail-previews', previews])).stdout;
  assert.match(written, /previews\/verification\.en\.html$/m);
  assert.doesNotMatch(written, /\| Hello,/);
  assert.match(await readFile(join(previews, 'initialisation.en.html'), 'utf8'), /^<!doctype html>\n<html lang="en"/);
  assert.match(await readFile(join(previews, 'initialisation.en.txt'), 'utf8'), /: Set up your account\n\nHello,\n/);
  const { mails } = JSON.parse((await muster([...args, '--json'])).stdout);
  assert.deepEqual(
    mails.map(({ kind, language, users }: Record<string, unknown>) => [kind, language, users]),
    [
      ['verification', 'en', 1],
      ['initialisation', 'en', 1],
    ],
  );
});

scene(
  'a dry run leaves a draft, which is started without the files, corrected before, or discarded',
  async (t, { muster, orgId, imports, env, service }) => {
    const path = await usersFile(t, [line(1, { password_hash: HASH }), line(2, { email: ' no address' })]);
    const args = ['import', path, '--from', 'auth0', '--org', orgId, '--dry-run', '--on-existing', 'skip'];
    const { stdout: json } = await muster([...args, '--json']);
    const { draft, import: check, summary } = JSON.parse(json);
    assert.deepEqual([check.dryRun, check.counts.failed, summary.users], [true, 1, 2]);
    const gone = await muster(['discard', draft]);
    assert.deepEqual([gone.code, gone.stdout], [0, `Draft ${draft} is discarded.\n`]);

    const { stdout } = await muster(args);
    const id = /^ {2}muster start (\d+) --timeout 1h --on-existing skip --watch$/m.exec(stdout)?.[1] as string;
    assert.match(stdout, new RegExp(`^To correct those that fail before: muster causes ${id}$`, 'm'));
    await rm(path);
    const status = (await muster(['status', id])).stdout;
    assert.match(status, new RegExp(`muster start ${id} --watch +import its users`));
    const causes = JSON.parse((await muster(['causes', id, '--json'])).stdout).causes;
    const fixed = await muster(['fix', id, '--cause', causes[0].cause, '--remedy', 'leave-out']);
    assert.match(fixed.stdout, /^1 user left out/);
    const started = await muster(['start', id, '--timeout', '30m', '--on-existing', 'skip', '--watch']);
    assert.equal(started.code, 0, started.stderr);
    assert.match(started.stdout, /2: 1 succeeded, 1 skipped/);
    assert.equal(await imports(), 1);
    assert.equal((await muster(['start', id])).code, 1, 'once');

    const token = env.MUSTER_TOKEN;
    for (let i = 0; i < 20; i++) await must(service.call('POST', '/admin/v1/imports', {}, { token }));
    const again = await usersFile(t, [line(3, { password_hash: HASH })]);
    const full = await muster(['import', again, '--from', 'auth0', '--org', orgId, '--dry-run']);
    assert.equal(full.code, 0, full.stderr);
    assert.match(full.stderr, /You have too many drafts, so this dry run keeps no users/);
    assert.match(full.stdout, /^To import these users, run:\n {2}muster import /m);
  },
);

scene('with --json the whole result is one object on standard output', async (t, { muster, orgId }) => {
  const path = await usersFile(t, [line(1, { password_hash: HASH }), line(2, { email: 'no address' })]);
  const { code, stdout } = await muster(['import', path, '--from', 'auth0', '--org', orgId, '--watch', '--json']);
  assert.equal(code, 3);
  const { import: result, summary, failures } = JSON.parse(stdout);
  assert.equal(result.state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
  assert.equal(result.source, 'auth0');
  assert.deepEqual(summary.orgs, [{ orgId, users: 2 }]);
  assert.deepEqual(summary.mails, { verification: 0, initialisation: 1 });
  assert.equal(failures.length, 1);
  assert.deepEqual(failures[0].examples, [{ file: path, line: 2 }]);
});

scene(
  'unreadable records stop the import before anything is imported, or are skipped with --skip-broken',
  async (t, { muster, orgId, imports }) => {
    const path = await usersFile(t, [line(1), '{"user_id":', line(2), '7']);
    const args = ['import', path, '--from', 'auth0', '--org', orgId];
    const refused = await muster(args);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /The record is not valid JSON\. \(.*line 2\)/);
    assert.match(refused.stderr, /The record is not an object\. \(.*line 4\)/);
    assert.match(refused.stderr, /2 records cannot be read, so nothing was imported/);
    assert.equal(await imports(), 0);
    const { code } = await muster([...args, '--skip-broken', '--watch']);
    assert.equal(code, 0);
  },
);

scene(
  'more than a hundred mails are not sent without confirmation',
  async (t, { muster, orgId, imports, env, service }) => {
    if (!requireOrSkip(t, 'script')) return;
    const lines = Array.from({ length: 101 }, (_, n) =>
      line(n, { email: `many${n}@example.com`, email_verified: undefined, password_hash: HASH }),
    );
    const path = await usersFile(t, lines);
    const args = ['import', path, '--from', 'auth0', '--org', orgId];

    const refused = await muster(args);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /101 mails would be sent, and there is no terminal to ask on/);
    const declining = openTerminal(t, args, { env });
    await declining.shows(/101 mails will be sent .* Continue\? \[y\/N\]/);
    declining.type('n\r');
    assert.equal(await declining.ended, 1);
    assert.equal(await imports(), 0);

    const without = await muster([...args, '--mails', 'none', '--watch']);
    assert.equal(without.code, 0, without.stderr);
    assert.deepEqual(
      service.smtp.mails.filter(({ to }) => String(to).includes('many')),
      [],
    );
    const agreeing = openTerminal(t, [...args, '--on-existing', 'skip'], { env });
    await agreeing.shows(/Continue\? \[y\/N\]/);
    agreeing.type('y\r');
    assert.equal(await agreeing.ended, 0);
    assert.equal(await imports(), 2);
  },
);

scene('a guess is shown, and needs confirmation on a terminal', async (t, { orgId, env, muster }) => {
  if (!requireOrSkip(t, 'script')) return;
  const files = [join(AUTH0, 'users.ndjson')];
  const terminal = openTerminal(t, ['import', ...files, '--org', orgId], { env });
  await terminal.shows(/Auth0 \(NDJSON, UTF-8\), a guess.*[\s\S]*is a guess\. Continue\? \[y\/N\]/);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 130);

  const nobodys = await usersFile(t, ['{"a":1}', '{"a":2}']);
  const { code, stderr } = await muster(['import', nobodys, '--org', orgId]);
  assert.equal(code, 2);
  assert.match(stderr, /comes from is not recognized[\s\S]*--from/);
});

scene('gzipped standard input is imported like a file', async (_, { muster, orgId }) => {
  const input = gzipSync(`${line(1)}\n${line(2)}\n`);
  const { code, stdout, stderr } = await muster(['import', '-', '--from', 'auth0', '--org', orgId, '--watch'], input);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /2: 2 succeeded/);
});

/** A proxy in front of the service: `judge` decides for each import whether it is forwarded. */
async function gate(
  t: TestContext,
  target: string,
  judge: (tries: number, req: IncomingMessage, res: ServerResponse) => boolean,
) {
  let tries = 0;
  const keys = new Set<unknown>();
  const server = createServer(async (req, res) => {
    if (req.method === 'POST' && req.url?.startsWith('/admin/v1/import?')) {
      keys.add(req.headers['idempotency-key']);
      if (!judge(++tries, req, res)) return;
    }
    const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = req.headers as Record<string, string>;
    const body = req.method === 'GET' ? {} : { body: req as unknown as ReadableStream, duplex: 'half' };
    const answer = await fetch(target + req.url, { method: req.method as string, headers, ...body } as RequestInit);
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    res.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tries: () => tries, keys };
}

scene('an interrupted upload is sent again, and makes one import', async (t, { orgId, env, service, imports }) => {
  const path = await usersFile(
    t,
    Array.from({ length: 5000 }, (_, n) => line(n, { password_hash: HASH })),
  );
  // The first attempt is cut in the middle; of the second only the response is lost.
  const through = await gate(t, service.url, (tries, req, res) => {
    if (tries === 1) req.once('data', () => req.socket.destroy());
    if (tries === 2) res.end = () => res.destroy();
    return tries > 1;
  });
  const args = ['import', path, '--from', 'auth0', '--org', orgId, '--json'];
  const { code, stdout, stderr } = await runMuster(args, { env: { ...env, MUSTER_URL: through.url } });
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/Sending the users again in/g)?.length, 2, stderr);
  assert.equal(through.tries(), 3);
  assert.equal(through.keys.size, 1);
  assert.equal(await imports(), 1);
  const result = await service.waitForEnd(JSON.parse(stdout).import.importId);
  assert.equal(result.counts.succeeded, 5000);
});

scene('an overloaded service is retried after the time that it asks for', async (t, { orgId, env, service }) => {
  const path = await usersFile(t, [line(1)]);
  const through = await gate(t, service.url, (tries, req, res) => {
    if (tries > 1) return true;
    req.resume();
    res.writeHead(429, { 'retry-after': '1', 'content-type': 'application/json' });
    res.end(
      JSON.stringify({ code: 8, message: 'Too many users are waiting to be imported. Try again later.', details: [] }),
    );
    return false;
  });
  const args = ['import', path, '--from', 'auth0', '--org', orgId];
  const { code, stderr } = await runMuster(args, { env: { ...env, MUSTER_URL: through.url } });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Too many users are waiting.* Sending the users again in 1 s/);
});

scene('a refusal of the service is not retried', async (t, { muster, orgId }) => {
  const path = await usersFile(t, [line(1)]);
  const { code, stderr } = await muster(['import', path, '--from', 'auth0', '--org', orgId, '--timeout', '999h']);
  assert.equal(code, 1);
  assert.match(stderr, /timeout/);
});

scene('--timeout and --org are checked before a file is read', async (_t, { muster, orgId }) => {
  const missing = '/nowhere/users.json';
  const soon = await muster(['import', missing, '--org', orgId, '--timeout', 'soon']);
  assert.notEqual(soon.code, 0);
  assert.match(soon.stderr, /^muster: --timeout must be a duration of more than 0; it is "soon"\./m);
  const unknown = await muster(['import', missing, '--from', 'auth0', '--org', 'nobody-has-this']);
  assert.notEqual(unknown.code, 0);
  assert.match(unknown.stderr, /organization/i);
});

test('muster import', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  for (const [name, run] of SCENES) await t.test(name, async (t) => run(t, await stage(service)));
});

test('convert writes the body that import would send, readable only by its owner', async (t) => {
  const files = [join(AUTH0, 'users.ndjson')];
  const path = join(await folder(t), 'out.ndjson');
  const { code, stderr } = await runMuster(['convert', ...files, '--from', 'auth0', '--org', 'acme', '-o', path]);
  assert.equal(code, 0, stderr);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const text = await readFile(path, 'utf8');
  const entries = text
    .trimEnd()
    .split('\n')
    .map((entry) => JSON.parse(entry));
  assert.ok(entries.length > 0 && entries.every(({ orgId, user }) => orgId === 'acme' && user.profile));
  const piped = await runShell(`muster convert '${files[0]}' --from auth0 --org acme | cat`);
  assert.equal(piped.stdout, text);
});

test('convert leaves no file behind when it fails', async (t) => {
  const path = await usersFile(t, [line(1)]);
  const broken = `${path}.json`;
  await writeFile(broken, `[${line(1)},\n{"a"}]`);
  const out = join(await folder(t), 'out.ndjson');
  const { code, stderr } = await runMuster(['convert', broken, '--from', 'auth0', '--org', 'acme', '-o', out]);
  assert.equal(code, 2);
  assert.match(stderr, /line 2: The file is not valid JSON/);
  await assert.rejects(stat(out), { code: 'ENOENT' });
});

scene('a dry run says who will sign in, and how; their list can be filtered by it', async (t, { muster, orgId }) => {
  const path = await usersFile(t, [
    line(1, { password_hash: HASH }),
    line(2, { user_id: 'auth0|way-none' }),
    line(3, { password_hash: HASH, blocked: true }),
  ]);
  const run = ['import', path, '--from', 'auth0', '--org', orgId, '--dry-run'];
  const json = JSON.parse((await muster([...run, '--json'])).stdout);
  const { importId, signIn, counts } = json.import;
  const { PASSWORD, MAIL_CODE, NONE, ...others } = signIn.ways;
  assert.deepEqual([PASSWORD, MAIL_CODE, NONE], [1, 1, 1]);
  assert(Object.values(others).every((users) => users === 0));
  assert.deepEqual([counts.succeeded, signIn.causes], [3, { NO_PASSWORD: 1, INACTIVE: 1 }]);
  const { stdout } = await muster(run);
  for (const pattern of [
    /^ {2}How they will sign in\n +1 {2}with what they know\n +1 {4}the password that they have \(PASSWORD\)$/m,
    /^ +1 {2}with something else\n +1 {4}a code by mail \(MAIL_CODE\)\n +1 {4}why: .* \(NO_PASSWORD\)$/m,
    /^ +1 {2}not at all\n +1 {4}why: The user is inactive\. \(INACTIVE\)$/m,
    /^ {2}To list them: muster items \d+ --sign-in MAIL_CODE; /m,
  ]) {
    assert.match(stdout, pattern);
  }
  const [, draft = ''] = /muster start (\d+)/.exec(stdout) ?? [];
  assert.match((await muster(['status', draft])).stdout, /How they will sign in\n +1 {2}with what they know/);
  const listed = await muster(['items', importId, '--sign-in', 'mail-code']);
  assert.match(listed.stdout, /^INDEX .*\n.* MAIL_CODE \(NO_PASSWORD\)\n$/);
  assert.match(listed.stdout, /auth0\|way-none/);
  const { items } = JSON.parse((await muster(['items', importId, '--sign-in', 'NONE', '--json'])).stdout);
  assert.deepEqual(
    items.map(({ index, signIn: of }: { index: number; signIn: { way: string } }) => [index, of.way]),
    [[2, 'NONE']],
  );
  assert.equal((await muster(['items', importId, '--sign-in', 'magic'])).code, 2);
});
