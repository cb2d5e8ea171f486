/**
 * The command line and the console call the API by the names of operations: no text in their code looks like a path of
 * the API, whatever it is called with, so that a path is written in the contract alone.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { OUTLINE } from '../../src/contract/outline.ts';

/** Files that may name paths of operations, and why. */
const WITH_PATHS: Readonly<Record<string, string>> = {
  'src/console/browser/uploads.ts': 'runs in browsers, which load no file of the contract',
};
/** Files of the command line that send requests themselves, each with what it calls that is no operation. */
const SENDERS: Readonly<Record<string, string>> = {
  'src/cli/doctor/doctor.ts': '/healthz, /readyz and the discovery document, before a token is sent',
  'src/cli/service/api.ts': 'none: it sends the calls of operations',
  'src/cli/service/browser-login.ts': 'OAuth, by the package openid-client',
  'src/cli/service/oauth-server.ts': 'OAuth and its discovery, by the package openid-client',
};

/** `/admin/v1` of `GET /admin/v1/imports`: the first two names of each path, or the first of `/v2beta/users`. */
const ROOTS = [
  ...new Set(Object.values(OUTLINE).map(({ path }) => /\/(?:v2beta|\w+\/v\d+)(?=\/)/.exec(path)?.[0] ?? '')),
];
/** What does not run; a `//` of an address is no comment. */
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm;
const SENDS = /\bfetch\(|'openid-client'|'node:https?'/;

/** The files of a part whose code, without comments, is as `matches` says. */
function filesWith(part: string, matches: (code: string) => boolean): string[] {
  const files = globSync(`src/${part}/**/*.{ts,js}`);
  assert(files.length > 50, `${files.length} files were found`);
  return files.filter((file) => matches(readFileSync(file, 'utf8').replace(COMMENTS, ''))).toSorted();
}

it('the command line and the console name no path of the API', () => {
  assert.deepEqual(ROOTS.toSorted(), ['/admin/v1', '/auth/v1', '/management/v1', '/v2beta']);
  const found = ['cli', 'console'].flatMap((part) =>
    filesWith(part, (code) => ROOTS.some((root) => code.includes(root))),
  );
  assert.deepEqual(found, Object.keys(WITH_PATHS));
});

it('only the files that are listed send requests of the command line', () => {
  assert.deepEqual(
    filesWith('cli', (code) => SENDS.test(code)),
    Object.keys(SENDERS),
  );
});
