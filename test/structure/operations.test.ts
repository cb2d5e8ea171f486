/** Who calls the API calls an operation by its name: no path of one is written a second time. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

/** Folders whose files call operations by name, through src/contract/client.ts. */
const CALLERS = ['src/cli'];
/** Files with a path of an operation all the same, each with its reason. */
const WITH_PATHS: Record<string, string> = {};
/** Files that send requests themselves, each with what they call that is no operation. */
const SENDERS: Record<string, string> = {
  'src/cli/service/api.ts': 'sends the calls of operations',
  'src/cli/doctor/doctor.ts': '/healthz, /readyz and the discovery document, before a token is sent',
  'src/cli/service/browser-login.ts': 'OAuth, by the package openid-client',
  'src/cli/service/oauth-server.ts': 'OAuth and its discovery, by the package openid-client',
};

const PATH = /\/(?:admin\/v1|management\/v1|auth\/v1|v2beta|v2)\b/;
const SENDS = /\bfetch\(|'openid-client'|'node:https?'/;

const files = CALLERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,js}`)).map((file) => ({
  file,
  text: readFileSync(file, 'utf8'),
}));
const filesWith = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

it('no path of an operation is written where one is called by name', () => {
  assert.ok(files.length > 50, 'the files were found');
  assert.deepEqual(filesWith(PATH), Object.keys(WITH_PATHS));
});

it('only the files that are listed send requests', () => {
  assert.deepEqual(filesWith(SENDS).toSorted(), Object.keys(SENDERS).toSorted());
});
