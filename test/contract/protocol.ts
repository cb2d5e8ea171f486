/** Fields and parameters of OAuth, with values that get further than random ones. */
import fc from '../support/fast-check.ts';
import { hostileText } from './hostile.ts';

const JWTS = [
  'eyJhbGciOiJub25lIn0.eyJzdWIiOiJpbXBvcnRlciJ9.',
  'eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJpbXBvcnRlciJ9.AAAA',
  'eyJhbGciOiJSUzI1NiJ9.bm90IGpzb24.AAAA',
  'a.b.c',
];
/** Placeholder for the id of a registered client. */
export const KNOWN_CLIENT = '{clientId}';
const CALLBACKS = ['https://portal.acme.example/callback', 'http://127.0.0.1/callback', 'javascript:alert(1)'];
/** Values by field or parameter. */
const PROTOCOL_VALUES: Record<string, string[]> = {
  grant_type: [
    'client_credentials',
    'authorization_code',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  device_code: ['made-up', 'row~AAAA'],
  client_assertion_type: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
  assertion: JWTS,
  client_assertion: JWTS,
  id_token_hint: JWTS,
  token: JWTS,
  token_type_hint: ['access_token', 'refresh_token'],
  scope: ['openid', 'openid profile email offline_access', 'urn:service:iam:org:project:id:service:aud', 'nonsense'],
  response_type: ['code', 'code', 'code', 'id_token', 'none'],
  code_challenge_method: ['S256', 'S256', 'plain'],
  code_challenge: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
  prompt: ['login', 'none', 'consent', 'create'],
  client_id: [KNOWN_CLIENT, KNOWN_CLIENT, 'importer', 'muster-cli', 'no-such-client'],
  redirect_uri: CALLBACKS,
  post_logout_redirect_uri: CALLBACKS,
};

/** Most of the fields, sometimes with one of them repeated. */
export function protocolPairs(names: string[]): fc.Arbitrary<[string, string][]> {
  const pairOf = (name: string) => fc.tuple(fc.constant(name), protocolValue(name));
  const most = fc.oneof(fc.constant(names), fc.subarray(names));
  const twice = fc.array(fc.tuple(fc.constantFrom(...names), hostileText), { maxLength: 1 });
  return fc
    .tuple(most, twice, fc.nat(3))
    .chain(([some, more, nothing]) =>
      fc.tuple(...some.map(pairOf)).map((list) => (nothing === 0 ? [...list, ...more] : [...list])),
    );
}

/** A value of a field or parameter of OAuth, mostly a plausible one. */
function protocolValue(field: string): fc.Arbitrary<string> {
  const good = PROTOCOL_VALUES[field];
  return fc.oneof(
    ...(good ? [{ arbitrary: fc.constantFrom(...good), weight: 8 }] : []),
    { arbitrary: fc.constantFrom(...Object.values(PROTOCOL_VALUES).flat()), weight: 1 },
    { arbitrary: hostileText, weight: 1 },
  );
}

export function isProtocol(name: string): boolean {
  return Object.hasOwn(PROTOCOL_VALUES, name);
}
