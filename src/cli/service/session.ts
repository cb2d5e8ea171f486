/**
 * What every command starts with: the output, and the service that the options, the environment or the login name.
 */

import { EXIT, Failure } from '../terminal/failure.ts';
import { type Output, openOutput } from '../terminal/output.ts';
import { type Api, openApi } from './api.ts';
import { renewed } from './renew.ts';
import { type GlobalOptions, readSettings, type Settings } from './settings.ts';

/** Options of all commands. */
export interface CommonOptions extends GlobalOptions {
  json?: boolean | undefined;
}

export interface Session {
  out: Output;
  api: Api;
  settings: Settings;
}

/** @throws Failure when the settings are wrong; a missing token is reported by the first call */
export async function openSession(options: CommonOptions): Promise<Session> {
  const settings = await readSettings(options);
  return {
    out: openOutput(options.json === true, options.shell),
    settings,
    api: openApi(settings.url, tokens(settings)),
  };
}

function tokens(settings: Settings): () => Promise<string> {
  return async () => {
    if (settings.token) return settings.token;
    const login = settings.kept.logins[settings.url];
    if (login) return renewed(settings, login);
    throw new Failure(`You are not logged in at ${settings.url}.`, {
      exitCode: EXIT.denied,
      advice: 'Run `muster login`, or set MUSTER_TOKEN to a token (the first start of the service prints one).',
    });
  };
}
