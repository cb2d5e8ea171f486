/** A user pool that speaks the documented protocol of `InitiateAuth` (Amazon Cognito, API version 2016-04-18). */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CognitoUser {
  password: string;
  challenge?: string;
  error?: string;
}

export interface CognitoPool {
  endpoint: string;
  clientId: string;
  clientSecret: string;
  stop(): Promise<void>;
}

const CLIENT_ID = '1h57kf5cpq17m0eml12EXAMPLE';
const CLIENT_SECRET = '9ih4cm8EXAMPLE';

export async function startCognito(users: Readonly<Record<string, CognitoUser>>): Promise<CognitoPool> {
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const { 'x-amz-target': target, 'content-type': type } = req.headers;
    const isCall = target === 'AWSCognitoIdentityProviderService.InitiateAuth' && type === 'application/x-amz-json-1.1';
    const answer = isCall
      ? initiateAuth(users, JSON.parse(Buffer.concat(chunks).toString()))
      : fault('UnknownOperationException');
    res
      .writeHead('__type' in answer ? 400 : 200, { 'content-type': 'application/x-amz-json-1.1' })
      .end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Auth {
  AuthFlow: string;
  ClientId: string;
  AuthParameters: { USERNAME: string; PASSWORD: string; SECRET_HASH?: string };
}

function initiateAuth(
  users: Readonly<Record<string, CognitoUser>>,
  { AuthFlow, ClientId, AuthParameters: auth }: Auth,
) {
  if (ClientId !== CLIENT_ID) return fault('ResourceNotFoundException', 'User pool client does not exist.');
  if (AuthFlow !== 'USER_PASSWORD_AUTH') return fault('InvalidParameterException', 'flow not enabled');
  const expected = createHmac('sha256', CLIENT_SECRET)
    .update(auth.USERNAME + ClientId)
    .digest('base64');
  if (auth.SECRET_HASH !== expected) return fault('NotAuthorizedException', 'Unable to verify secret hash for client');
  const user = users[auth.USERNAME];
  if (!user) return fault('UserNotFoundException', 'User does not exist.');
  if (user.error) return fault(user.error, 'as asked for');
  if (user.password !== auth.PASSWORD) return fault('NotAuthorizedException', 'Incorrect username or password.');
  if (user.challenge) return { ChallengeName: user.challenge, Session: 's'.repeat(20), ChallengeParameters: {} };
  return {
    AuthenticationResult: { AccessToken: 'a.b.c', ExpiresIn: 3600, TokenType: 'Bearer' },
    ChallengeParameters: {},
  };
}

function fault(type: string, message?: string) {
  return { __type: type, message };
}
