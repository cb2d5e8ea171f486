/** OAuth clients in the OpenAPI document. */
import { z } from 'zod';
import { newClient } from '../identity/clients/schema.ts';
import { AUTH_METHODS, GRANT_TYPES } from '../identity/clients/store.ts';
import type { Operations } from './operation.ts';
import { changed, createdDetails, exampleCreated, exampleSearch, searchAnswer } from './shapes.ts';

const client = z
  .object({
    clientId: z.string(),
    name: z.string(),
    redirectUris: z.array(z.string()),
    postLogoutRedirectUris: z.array(z.string()),
    grantTypes: z.array(z.enum(GRANT_TYPES)),
    authMethod: z.enum(AUTH_METHODS),
    pkceRequired: z.boolean(),
    scopes: z.array(z.string()).optional().meta({ description: 'Absent: it may request every scope.' }),
    details: createdDetails,
  })
  .meta({ id: 'Client' });

const exampleClient = {
  name: 'Portal',
  redirectUris: ['https://portal.acme.example/callback'],
  postLogoutRedirectUris: ['https://portal.acme.example/'],
  grantTypes: ['authorization_code', 'refresh_token'],
  authMethod: 'client_secret_basic',
};
const clientId = '0199e7e0-1c5a-7d3b-8a4e-2f6b1c9d0e11';
const exampleDetails = { ...exampleCreated, resourceOwner: 'instance' };

export const clientOperations: Operations = {
  'POST /admin/v1/clients': {
    id: 'addClient',
    summary: 'Register an OAuth client',
    description:
      'The client secret is shown only once, in this response. A client with `authMethod` `none` gets no secret. With `pkceRequired` `false`, a client with a secret may leave out PKCE; set it only if the application does not support PKCE. With `scopes`, a request of the client with another scope is refused with `invalid_scope`.',
    body: {
      schema: newClient,
      examples: {
        'web application': exampleClient,
        'native application': {
          name: 'Command line',
          redirectUris: ['http://127.0.0.1/callback'],
          grantTypes: ['authorization_code'],
          authMethod: 'none',
        },
      },
    },
    answers: {
      200: {
        schema: z.object({ clientId: z.string(), clientSecret: z.string().optional(), details: createdDetails }),
        example: { clientId, clientSecret: 'bm90IGEgc2VjcmV0IG9mIGFueWJvZHk', details: exampleDetails },
      },
    },
  },
  'GET /admin/v1/clients': {
    id: 'listClients',
    summary: 'List the OAuth clients',
    answers: {
      200: {
        schema: searchAnswer(client),
        example: exampleSearch({ clientId, ...exampleClient, pkceRequired: true, details: exampleDetails }),
      },
    },
  },
  'DELETE /admin/v1/clients/{clientId}': {
    id: 'removeClient',
    summary: 'Remove an OAuth client',
    answers: { 200: changed },
  },
};
