/** The texts of OAuth clients. */

export const CLIENTS = {
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
  redirectUris: 'Redirect URIs',
  logoutUris: 'Redirect URIs after signing out',
  linesHint: 'One on each line.',
  created: 'Created',
  action: 'Action',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}`,
  removeEffects: [
    'Nobody can sign in to this application any more.',
    'All tokens that it got stop working at once.',
    'A new client gets another id and another secret. This cannot be taken back.',
  ],
  back: 'Back, change nothing',
};
