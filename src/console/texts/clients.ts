/** The texts of OAuth clients. */
import * as de from './de/clients.ts';
import { localized } from './language.ts';

const englishClients = {
  title: 'Clients',
  create: 'New client',
  createEffect:
    'The client can ask people to sign in at once. Its secret, if it has one, is shown once on the next page.',
  none: 'No clients yet',
  noneHint: 'A client is an application that people sign in to with their account here.',
  name: 'Name',
  nameHint: 'People see it when they sign in.',
  id: 'Client id',
  secret: 'Client secret',
  kind: 'Kind',
  kinds: {
    web: 'Web application with a server (secret)',
    native: 'App in a browser or on a device (no secret)',
    service: 'Program without people (secret)',
  },
  edit: 'Edit',
  editTitle: (name: string) => `Edit ${name}`,
  editHint: 'The kind of a client and its secret stay as they are: a new client has others.',
  start: 'Quick start',
  startTitle: (name: string) => `Quick start: ${name}`,
  starts: {
    native: {
      name: 'An application in a browser',
      file: 'index.html',
      hints: ['Save this as index.html, and serve it at the redirect URI. It needs nothing else.'],
    },
    web: {
      name: 'An application with a server',
      file: 'server.mjs',
      hints: [
        'Save this as server.mjs. It needs Node.js 20 and the package openid-client: npm install openid-client@6',
        'Run it with the secret that was shown when the client was created: CLIENT_SECRET=… node server.mjs. Then open the address of the redirect URI without its path.',
      ],
    },
    service: {
      name: 'A program without people',
      file: 'token.sh',
      hints: ['Run it with the secret that was shown when the client was created: export CLIENT_SECRET=…'],
    },
  },
  firstUri: 'The program uses the first redirect URI.',
  values: 'Values for other libraries',
  issuer: 'Issuer',
  discovery: 'Metadata (OpenID Connect Discovery)',
  redirectUris: 'Redirect URIs',
  logoutUris: 'Redirect URIs after signing out',
  linesHint: 'One on each line.',
  created: 'Created',
  action: 'Action',
  claims: 'Claims',
  claimsTitle: (name: string) => `Claims of ${name}`,
  claimsHint:
    'What the application reads from tokens beside the standard claims. A system in this list: as its own tokens have them, from what its users bring; access tokens become JWTs.',
  claimsNone: 'Standard claims only, opaque access tokens',
  claimsOwn: 'As they are',
  claimsNames: {
    keycloak: 'Keycloak: realm_access, resource_access, groups',
    auth0: 'Auth0: app_metadata, user_metadata, roles, with a namespace',
    cognito: 'Amazon Cognito: cognito:groups, custom attributes',
    firebase: 'Firebase: custom claims',
    supabase: 'Supabase: app_metadata, user_metadata, role',
  },
  namespace: 'Namespace of Auth0 claims',
  namespaceHint: 'The URL that begins their names, such as https://acme.example/. Empty: the address of this service.',
  claim: 'Claim',
  from: 'From',
  places: 'Given in',
  save: 'Save',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}`,
  removeEffects: [
    'Nobody can sign in to this application any more.',
    'All tokens that it got stop working at once.',
    'A new client gets another id and another secret. This cannot be taken back.',
  ],
  back: 'Back, change nothing',
};

export const CLIENTS = localized(englishClients, de.CLIENTS);
