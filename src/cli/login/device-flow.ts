/** The login through a browser on another machine (RFC 8628): a code is shown here and entered there. */
import * as oidc from 'openid-client';
import { CLI_SCOPE } from '../../identity/oauth/cli-client.ts';
import { oauthFailure, type Server, type Tokens } from '../service/oauth-server.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** @throws Failure when the person refuses, or does not answer in time */
export async function logInByDevice(server: Server, out: Output, url: string): Promise<Tokens> {
  try {
    const device = await oidc.initiateDeviceAuthorization(server, { scope: CLI_SCOPE });
    const minutes = Math.round(device.expires_in / 60);
    const lines = [
      'In a browser on any machine, open',
      '',
      `  ${device.verification_uri}`,
      '',
      'and enter this code:',
      '',
      `  ${device.user_code}`,
      '',
      `The code is valid for ${minutes} minutes.`,
    ];
    out.note(lines.join('\n'));
    return await oidc.pollDeviceAuthorizationGrant(server, device);
  } catch (error) {
    throw explained(url, error);
  }
}

const ENDED: Readonly<Record<string, string>> = {
  access_denied: 'The login was refused in the browser.',
  expired_token: 'The code has expired.',
};

function explained(url: string, error: unknown): Failure {
  const ended = error instanceof oidc.ResponseBodyError ? ENDED[error.error] : undefined;
  if (!ended) return oauthFailure(url, 'Login failed', error);
  return new Failure(ended, { exitCode: EXIT.denied, advice: 'Run `muster login --device` again.' });
}
