/**
 * Amazon Cognito: ListUsers, signed with the keys of an AWS user. Cognito returns no password hashes.
 *
 * Its filter knows no time of change, so all users are read and compared. Nothing says how long a pagination token is
 * valid, so an interrupted run reads from the beginning and sends what it had not sent.
 * https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_ListUsers.html
 * https://docs.aws.amazon.com/cognito/latest/developerguide/quotas.html
 */
import { UsageError } from '../../read/records.ts';
import type { Fields } from '../../source.ts';
import { type AwsKeys, awsSignature, type Http, openHttp } from '../http.ts';
import {
  baseUrl,
  numberOption,
  optionOf,
  PullError,
  type PullSettings,
  type PullSystem,
  type RecordPage,
  requiredOption,
  secretOf,
} from '../system.ts';

/** Region and id: `eu-central-1_aBcD1234`. */
const POOL = /^([a-z]{2}(?:-[a-z]+)+-\d)_[0-9A-Za-z]+$/;

export const cognito: PullSystem = {
  name: 'cognito',
  title: 'Amazon Cognito',
  describe: 'ListUsers of an Amazon Cognito user pool; it returns no password hashes',
  source: 'cognito',
  options: {
    pool: { describe: 'id of the user pool: eu-central-1_aBcD1234', required: true },
    host: { describe: 'endpoint (default: https://cognito-idp.REGION.amazonaws.com)' },
    'page-size': { describe: 'users in a page, at most 60', default: '60' },
  },
  secrets: [
    { name: 'keyId', env: 'AWS_ACCESS_KEY_ID', prompt: 'Access key id of AWS' },
    { name: 'secret', env: 'AWS_SECRET_ACCESS_KEY', prompt: 'Secret access key of AWS' },
    { name: 'session', env: 'AWS_SESSION_TOKEN', prompt: 'Session token of AWS', optional: true, neverAsked: true },
  ],
  tellsChanges: false,
  continues: false,
  async open(settings) {
    const pool = requiredOption(settings, 'pool');
    const [, region] = POOL.exec(pool) ?? [];
    if (region === undefined)
      throw new UsageError('--pool must be the id of a user pool, such as eu-central-1_aBcD1234.');
    const base = baseUrl('host', optionOf(settings, 'host') ?? `cognito-idp.${region}.amazonaws.com`);
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 60]);
    const http = openHttp({ ...settings, title: 'Cognito', meaning });
    const ask = asker(http, new URL(`${base}/`), region, keysOf(settings));
    return {
      identity: `${base} ${pool}`,
      async *pages() {
        for (let read = 0, token: string | undefined; ; ) {
          const { Users: records, PaginationToken: next } = await ask({
            UserPoolId: pool,
            Limit: size,
            ...(token === undefined ? {} : { PaginationToken: token }),
          });
          if (!Array.isArray(records)) throw new PullError('failed', 'Cognito did not answer with a list of users.');
          read += records.length;
          if (records.length > 0) yield { records, cursor: String(read) } satisfies RecordPage;
          if (next === undefined) return;
          token = next;
        }
      },
      close: async () => {},
    };
  },
};

function keysOf(settings: PullSettings): AwsKeys {
  const session = secretOf(settings, 'session');
  return {
    id: secretOf(settings, 'keyId'),
    secret: secretOf(settings, 'secret'),
    sessionToken: session === '' ? undefined : session,
  };
}

interface Answer {
  Users?: Fields[];
  PaginationToken?: string;
}

function asker(http: Http, url: URL, region: string, keys: AwsKeys): (body: object) => Promise<Answer> {
  const headers = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'AWSCognitoIdentityProviderService.ListUsers',
  };
  return async (input) => {
    const body = JSON.stringify(input);
    const request = { method: 'POST', url, headers, body, region, service: 'cognito-idp' };
    const sign = () => awsSignature(request, keys, new Date());
    return (await http.json<Answer>(url.href, { method: 'POST', headers, body, sign })).body;
  };
}

const DENIED =
  /^(?:AccessDenied|ExpiredToken|IncompleteSignature|InvalidClientTokenId|InvalidSignature|MissingAuthenticationToken|NotAuthorized|UnrecognizedClient)(?:Exception)?$/;

/** Cognito answers 400 for nearly everything; the type of the error says what it is. */
function meaning({ __type: type }: Record<string, unknown>): 'limited' | 'denied' | undefined {
  const name = typeof type === 'string' ? type.replace(/^.*#/, '') : '';
  if (name === 'TooManyRequestsException' || name === 'ThrottlingException') return 'limited';
  return DENIED.test(name) ? 'denied' : undefined;
}
